# tries: writes to the experiment, its answers and the things of tests by their absolute paths
# held-by: none of them is in its file tree, or may be written there

#: agent
echo tried > tried
for f in "$ATTACK_PLACE"/* "$ATTACK_PLACE"/.proctor/runs/*/* "$ATTACK_PLACE"/key.txt \
    /run/proctor/* /run/proctor/tests/* /run/proctor/etc/*; do
    echo forged >> "$f"
done 2>/dev/null
rm -rf "$ATTACK_PLACE"/.proctor /run/proctor/tests "$ATTACK_PLACE/key.txt" 2>/dev/null
true
#: control tried
test -s tried && echo works >> tried && grep -q works tried
#: guard answer key=key.txt
test "$(cat key.txt)" = 'the answer is k4ttegat'
#: guard context
! grep -q forged "$AX_RUN_CONTEXT_PATH"
#: wrong wrong
exit 1
