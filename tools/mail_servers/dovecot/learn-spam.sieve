# A message moved or copied into Junk is spam.
require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment", "variables"];

if environment :matches "imap.user" "*" { set "user" "${1}"; }
pipe :copy "tally-learn" ["spam", "${user}"];
