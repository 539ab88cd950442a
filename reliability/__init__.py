"""Commands that measure what is promised under faults, attacks and load; short by default, --full for figures."""
