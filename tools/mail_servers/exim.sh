#!/bin/sh
# Exim asks the filter in its DATA ACL: a spam message is refused, a ham message delivered.
. "$(dirname "$0")/common.sh"
exim=$(command -v exim4 || command -v exim)
if ! "$exim" -C /dev/null -bV | grep -q Content_Scanning; then
    echo "skipped: this Exim has no content scanning (Debian: exim4-daemon-heavy)"
    exit 77
fi
serve
# With a configuration of ours Exim gives up root, so it delivers as its own user.
user=$("$exim" -C /dev/null -bP exim_user | sed 's/.* = //')
group=$("$exim" -C /dev/null -bP exim_group | sed 's/.* = //')
mkdir -p "$work/spool" "$work/box"
chmod 777 "$work/spool" "$work/box"
cat > "$work/exim.conf" <<END
primary_hostname = test.example
exim_path = $exim
spool_directory = $work/spool
log_file_path = $work/spool/%slog
spamd_address = 127.0.0.1 $port
acl_smtp_rcpt = accept
acl_smtp_data = check_data
acl_not_smtp = accept
never_users =
keep_environment =
begin acl
check_data:
  deny message = This message looks like spam (score \$spam_score)
       spam = nobody
  warn add_header = X-Spam-Score: \$spam_score
  accept
begin routers
all:
  driver = accept
  transport = file
begin transports
file:
  driver = appendfile
  directory = $work/box
  maildir_format
  create_directory
  user = $user
  group = $group
END
chmod 644 "$work/exim.conf"
send() {
    { printf 'EHLO client.example\r\nMAIL FROM:<x@client.example>\r\nRCPT TO:<ann@test.example>\r\nDATA\r\n'
      sed 's/$/\r/' "$1"
      printf '.\r\nQUIT\r\n'; } | "$exim" -C "$work/exim.conf" -odi -bs -oMa 127.0.0.2
}
send "$work/spam.eml" > "$work/spam.answer" 2>&1
send "$work/ham.eml" > "$work/ham.answer" 2>&1
[ -z "${VERBOSE:-}" ] || cat "$work/spam.answer" "$work/ham.answer" "$work"/spool/mainlog
expect "the spam message was refused" grep -q '^550 .*looks like spam' "$work/spam.answer"
expect "the ham message was accepted" grep -q '^250 OK id=' "$work/ham.answer"
expect "the ham message was delivered with its score" grep -rq '^X-Spam-Score: -\?[0-9]' "$work/box/new"
expect "nothing else was delivered" test "$(ls "$work/box/new" | wc -l)" = 1
