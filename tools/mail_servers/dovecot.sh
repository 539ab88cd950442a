#!/bin/sh
# Dovecot teaches the filter by what its users move: into Junk is spam, out of it is ham, to Trash is neither.
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
for program in dovecot sievec spamc; do
    command -v $program > /dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
serve
mkdir -p "$work/sieve" "$work/bin" "$work/run" "$work/state" "$work/box/ann"
cp "$here"/dovecot/*.sieve "$work/sieve/"
sed "s/:-783/:-$port/" "$here/dovecot/tally-learn" > "$work/bin/tally-learn"
chmod 755 "$work/bin/tally-learn"
# Dovecot does not read mail as root.
owner=nobody
chown -R nobody "$work/box" "$work/sieve"
cat > "$work/dovecot.conf" <<END
base_dir = $work/run
state_dir = $work/state
log_path = $work/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
first_valid_uid = 1
mail_location = maildir:$work/box/%u
service imap-login {
  inet_listener imap {
    port = ${IMAP_PORT:-10143}
  }
  inet_listener imaps {
    port = 0
  }
}
passdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = uid=$owner gid=nogroup home=$work/box/%u
}
namespace inbox {
  inbox = yes
  mailbox Junk {
    auto = subscribe
  }
  mailbox Trash {
    auto = subscribe
  }
}
protocol imap {
  mail_plugins = \$mail_plugins imap_sieve
}
plugin {
  sieve_plugins = sieve_imapsieve sieve_extprograms
  imapsieve_mailbox1_name = Junk
  imapsieve_mailbox1_causes = COPY APPEND
  imapsieve_mailbox1_before = file:$work/sieve/learn-spam.sieve
  imapsieve_mailbox2_name = *
  imapsieve_mailbox2_from = Junk
  imapsieve_mailbox2_causes = COPY
  imapsieve_mailbox2_before = file:$work/sieve/learn-ham.sieve
  sieve_pipe_bin_dir = $work/bin
  sieve_global_extensions = +vnd.dovecot.pipe
}
END
dovecot -c "$work/dovecot.conf"
trap 'doveadm -c "$work/dovecot.conf" stop 2>/dev/null || dovecot -c "$work/dovecot.conf" stop || true; finish' EXIT
sleep 2
python3 - "${IMAP_PORT:-10143}" "$work" <<'END'
import imaplib, sys, time
port, work = int(sys.argv[1]), sys.argv[2]
box = imaplib.IMAP4("127.0.0.1", port)
box.login("ann", "secret")
def put(subject):
    raw = f"From: carl@shop.example\r\nTo: ann@test.example\r\nSubject: {subject}\r\n\r\n{subject} body\r\n".encode()
    box.append("INBOX", None, None, raw)
for subject in ("junkmail", "binmail"):
    put(subject)
box.select("INBOX")
def move(subject, to):
    number = box.search(None, "SUBJECT", subject)[1][0].split()[0]
    box.copy(number, to)
    box.store(number, "+FLAGS", "\\Deleted")
    box.expunge()
move("junkmail", "Junk")
move("binmail", "Trash")
time.sleep(1)
box.select("Junk")
move("junkmail", "INBOX")
box.logout()
time.sleep(1)
END
[ -z "${VERBOSE:-}" ] || cat "$work/dovecot.log"
curl -s "http://127.0.0.1:$port/metrics" > "$work/metrics" || python3 -c "import urllib.request as u; print(u.urlopen('http://127.0.0.1:$port/metrics').read().decode())" > "$work/metrics"
expect "a move into Junk taught spam" grep -q 'learned_total{outcome="learned"} 1' "$work/metrics"
expect "a move out of Junk taught ham, in its place" grep -q 'learned_total{outcome="replaced"} 1' "$work/metrics"
expect "a move to Trash taught nothing" grep -q 'requests_total{command="TELL"} 2' "$work/metrics"

# Now without the sieve scripts: `tally spam imap` sorts the mailbox from outside.
sed -i 's/ imap_sieve$//' "$work/dovecot.conf"
doveadm -c "$work/dovecot.conf" reload
sleep 1
export TALLY_IMAP_PASSWORD=secret
imap() { $tally spam imap --host 127.0.0.1 --plain --port "${IMAP_PORT:-10143}" --user ann "$@"; }
put() {
    python3 - "${IMAP_PORT:-10143}" "$1" <<'END'
import imaplib, sys
box = imaplib.IMAP4("127.0.0.1", int(sys.argv[1]))
box.login("ann", "secret")
box.append("INBOX", None, None, open(sys.argv[2], "rb").read().replace(b"\n", b"\r\n"))
box.logout()
END
}
imap
put "$work/spam.eml"
put "$work/ham.eml"
imap --dry-run | tee "$work/dry"
expect "a dry run says what it would do" grep -q "would have: 2 looked at, 1 moved" "$work/dry"
imap
expect "the spam message is in Junk" grep -rq 'winner 99' "$work/box/ann/.Junk"
expect "the ham message is in the inbox" grep -rq 'meeting 99' "$work/box/ann/cur" "$work/box/ann/new"
