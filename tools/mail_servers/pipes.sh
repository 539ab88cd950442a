#!/bin/sh
# procmail and maildrop pass mail through `tally spam filter` and sort it by the verdict.
. "$(dirname "$0")/common.sh"
if command -v procmail > /dev/null; then
    mkdir -p "$work/p"
    cat > "$work/procmailrc" <<END
MAILDIR=$work/p
DEFAULT=$work/p/inbox
SHELL=/bin/sh
PATH=$PATH
:0fw
| $tally spam filter --store $TALLY_SPAM
:0:
* ^X-Tally-Spam: spam
junk
END
    chmod 600 "$work/procmailrc"
    for kind in spam ham; do procmail -m "$work/procmailrc" < "$work/$kind.eml"; done
    expect "procmail put the spam message in junk" grep -q 'winner 99' "$work/p/junk"
    expect "procmail put the ham message in the inbox" grep -q 'meeting 99' "$work/p/inbox"
else
    echo "skipped: procmail is not installed"
fi
if command -v maildrop > /dev/null; then
    mkdir -p "$work/m"
    cat > "$work/mailfilter" <<END
xfilter "$tally spam filter --store $TALLY_SPAM"
if (/^X-Tally-Spam: spam/)
{
    to "$work/m/junk"
}
to "$work/m/inbox"
END
    chmod 600 "$work/mailfilter"
    for kind in spam ham; do maildrop "$work/mailfilter" < "$work/$kind.eml"; done
    expect "maildrop put the spam message in junk" grep -q 'winner 99' "$work/m/junk"
    expect "maildrop put the ham message in the inbox" grep -q 'meeting 99' "$work/m/inbox"
else
    echo "skipped: maildrop is not installed"
fi
