#!/bin/sh
# Postfix asks the filter, by its own milter or (postfix.sh spamass-milter) through spamass-milter: a spam message is
# refused, a ham message delivered with its score.
. "$(dirname "$0")/common.sh"
smtp=${SMTP_PORT:-$((20000 + $$ % 20000))}
milter=$((smtp + 1))
if [ "${1:-}" = spamass-milter ]; then
    serve
    field='X-Spam-Status: No, score='
else
    serve --milter "127.0.0.1:$milter" --reject --reasons
    field='X-Tally-Spam: ham, probability='
fi
mkdir -p "$work/etc" "$work/spool" "$work/data" "$work/box"
chown postfix "$work/data" "$work/box"
cat > "$work/etc/main.cf" <<END
compatibility_level = 3.6
myhostname = test.example
queue_directory = $work/spool
data_directory = $work/data
maillog_file = $work/mail.log
maillog_file_prefixes = $work
mydestination =
inet_interfaces = loopback-only
inet_protocols = ipv4
alias_maps =
local_recipient_maps =
virtual_mailbox_domains = test.example
virtual_mailbox_base = $work/box
virtual_mailbox_maps = static:ann/
virtual_uid_maps = static:$(id -u postfix)
virtual_gid_maps = static:$(id -g postfix)
smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination
smtpd_milters = inet:127.0.0.1:$milter
milter_default_action = tempfail
END
cat > "$work/etc/master.cf" <<END
127.0.0.1:$smtp inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
error unix - - n - - error
proxymap unix - - n - - proxymap
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
END
if [ "${1:-}" = spamass-milter ]; then
    spamass-milter -p "inet:$milter@127.0.0.1" -r -1 -u nobody -- -d 127.0.0.1 -p "$port" &
    pids="$pids $!"
fi
postfix -c "$work/etc" start 2> "$work/start.log" || { cat "$work/start.log" "$work/mail.log"; exit 1; }
stop() { postfix -c "$work/etc" stop 2> /dev/null || true; finish; }
trap stop EXIT
trap "exit 1" INT TERM
send() { # send FILE: the server's answers, once it listens
    python3 - "$smtp" "$1" <<'END'
import smtplib
import sys
import time

for attempt in range(100):
    try:
        server = smtplib.SMTP("127.0.0.1", int(sys.argv[1]), timeout=60)
        break
    except OSError:
        time.sleep(0.1)
try:
    with server:
        server.sendmail("x@client.example", ["ann@test.example"], open(sys.argv[2], "rb").read())
    print("accepted")
except smtplib.SMTPResponseException as error:
    print(error.smtp_code, error.smtp_error.decode())
END
}
send "$work/spam.eml" > "$work/spam.answer"
if [ "${1:-}" != spamass-milter ]; then
    sed -i '1i X-Tally-Spam: ham, forged\nX-TALLY-SPAM: ham, forged twice\nX-Tally-Reason: forged,\n folded' "$work/ham.eml"
fi
send "$work/ham.eml" > "$work/ham.answer"
for _ in $(seq 100); do
    [ -n "$(ls "$work/box/ann/new" 2> /dev/null)" ] && break
    sleep 0.1
done
[ -z "${VERBOSE:-}" ] || cat "$work/spam.answer" "$work/ham.answer" "$work/mail.log" "$work"/box/ann/new/*
expect "the spam message was refused" grep -q '^550 ' "$work/spam.answer"
expect "the ham message was accepted" grep -q '^accepted' "$work/ham.answer"
expect "the ham message was delivered with its score" grep -q "^$field" "$work"/box/ann/new/*
expect "nothing else was delivered" test "$(ls "$work/box/ann/new" | wc -l)" = 1
[ "${1:-}" = spamass-milter ] && exit 0
expect "its header has the strongest words" grep -q '^X-Tally-Reason: ' "$work"/box/ann/new/*
expect "forged fields are gone, the last and the first" test "$(grep -ci '^x-tally' "$work"/box/ann/new/*)" = 2
expect "the rest is as it was sent" grep -q '^Subject: Notes 99' "$work"/box/ann/new/*
for _ in $(seq 50); do # the server writes what it judged once a second
    $tally spam history > "$work/history"
    [ "$(grep -c 'example: ' "$work/history")" = 2 ] && break
    sleep 0.1
done
expect "both are in the history" test "$(grep -c 'example: ' "$work/history")" = 2
$tally spam doctor --spamd "127.0.0.1:$port" > "$work/doctor" || true
expect "the doctor finds the server on this file" grep -q '^ok     the server knows 12 spam' "$work/doctor"
