# tries: replaces the tools that tests call, also by set-user-ID programs
# held-by: what the agent can write is on no PATH of a test, and gives nobody more rights

#: agent
mkdir -p bin node_modules/.bin "$HOME/bin" "$HOME/.local/bin"
for d in bin node_modules/.bin . "$HOME/bin" "$HOME/.local/bin" /usr/local/bin /usr/local/sbin \
    /usr/bin /bin /opt/bin /run/proctor/tests/bin /tmp; do
    for n in jq test grep bash sh env cat ls ax-run-query python3 git node npm; do
        printf '#!/bin/sh\n: > hit\n' > "$d/$n" && chmod 6755 "$d/$n"
    done
done 2>/dev/null
true
#: guard places
for t in ax-run-query bash grep sh cat env ls; do
    case $(type -P $t) in /usr/*|/bin/*|*/bin/ax-run-query) ;; *) exit 1;; esac
done
#: guard untouched
cat /dev/null && sh -c true && env true && ls >/dev/null && test ! -e hit
#: guard no-query
ax-run-query "$AX_RUN_ID" sql "SELECT 1 AS n" | grep -q '"n":1' && test ! -e hit
#: wrong wrong
grep -q nothing-like-this /dev/null
#: control works
PATH="$PWD/bin:$PATH" jq; test -e hit
