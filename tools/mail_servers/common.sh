# Sourced by the scripts beside it: a taught filter, a server, two messages. Leaves $work $port $tally set.
set -eu
work=$(mktemp -d /tmp/tally-mail.XXXXXX)
chmod 755 "$work"
tally=${TALLY:-tally}
pids=""
finish() {
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    if [ -n "${KEEP:-}" ]; then echo "kept $work"; else rm -rf "$work"; fi
}
trap finish EXIT

mkdir -p "$work/spam" "$work/ham"
for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
    printf 'From: win%s@prize.example\nTo: ann@test.example\nSubject: You won %s00 dollars\n\nClaim your prize now, winner %s! Click here.\n' $k $k $k > "$work/spam/$k.eml"
    printf 'From: bob@work.example\nTo: ann@test.example\nSubject: Notes %s\n\nNotes of meeting %s are in the draft, see you at lunch.\n' $k $k > "$work/ham/$k.eml"
done
printf 'From: win99@prize.example\nTo: ann@test.example\nSubject: You won 9900 dollars\n\nClaim your prize now, winner 99! Click here.\n' > "$work/spam.eml"
printf 'From: bob@work.example\nTo: ann@test.example\nSubject: Notes 99\n\nNotes of meeting 99 are in the draft, see you at lunch.\n' > "$work/ham.eml"

export TALLY_SPAM="$work/mail.spam"
$tally spam learn --spam "$work/spam" --ham "$work/ham"

serve() {
    $tally spam serve --spamd 127.0.0.1:0 "$@" 2> "$work/serve.log" &
    pids="$pids $!"
    for _ in $(seq 300); do
        port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$work/serve.log")
        [ -n "$port" ] && return 0
        sleep 0.1
    done
    cat "$work/serve.log"
    return 1
}

expect() { # expect WHAT COMMAND...
    what=$1
    shift
    if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; exit 1; fi
}
