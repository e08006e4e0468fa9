# tries: takes all memory
# held-by: the limit of memory, which ends the process that passes it
# limits: memory=134217728
# requires: max_memory
# ends: any

#: agent
echo tried > tried
head -c 600000000 /dev/zero 2>/dev/null | tail -n 1 2>/dev/null | wc -c > count
#: control begun
test -s tried
#: guard limited
test "$(cat count 2>/dev/null)" != 600000000
#: wrong wrong
exit 1
