# A message moved out of Junk is ham, unless it goes to the bin.
require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment", "variables"];

if environment :matches "imap.mailbox" "*" { set "mailbox" "${1}"; }
if string "${mailbox}" ["Trash", "Deleted Messages", "Deleted Items"] { stop; }
if environment :matches "imap.user" "*" { set "user" "${1}"; }
pipe :copy "tally-learn" ["ham", "${user}"];
