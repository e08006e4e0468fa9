# tries: writes a file that is larger than any may be
# held-by: RLIMIT_FSIZE cuts it off
# limits: file_size=4194304

#: agent
trap '' XFSZ
head -c 9000000 /dev/zero > big 2>/dev/null
echo tried > tried
#: control begun
test -s tried -a -s big
#: guard cut
test "$(stat -c %s big)" -le 4194304
#: wrong wrong
exit 1
