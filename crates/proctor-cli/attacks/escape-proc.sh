# tries: gets out over /proc: roots, memory, descriptors and settings of the kernel
# held-by: other processes cannot be looked into, and the settings are read-only

#: agent
try() { local what=$1; shift; ( "$@" ) >/dev/null 2>&1 && echo "GOT $what"; }
write() { : >> "$1" && echo x > "$1"; }
{
    try self cat /proc/self/maps
    for p in /proc/[0-9]*; do
        case $p in /proc/$$|/proc/$PPID) continue;; esac
        grep -q 'proctor\|bwrap\|launch' $p/cmdline 2>/dev/null || test $p = /proc/1 || test $p = /proc/$ATTACK_PID || continue
        try root ls $p/root/; try fd readlink $p/fd/0; try mem head -c 1 $p/mem
        try maps grep . $p/maps; try environ grep -a . $p/environ; try cwd ls $p/cwd/
    done
    for f in kernel/hostname kernel/core_pattern kernel/modprobe vm/swappiness fs/file-max; do
        try $f write /proc/sys/$f
    done
    try sysrq write /proc/sysrq-trigger
    try oom write /proc/1/oom_score_adj
    try shadow cat /etc/shadow
    try host-shadow cat /proc/1/root/etc/shadow
    try kmsg head -c 1 /dev/kmsg
    try kcore head -c 1 /proc/kcore
    try cgroup write /sys/fs/cgroup/cgroup.procs
} > found
#: control found
grep -qx 'GOT self' found
#: guard nothing
grep -vx 'GOT self' found; test $? = 1
#: wrong wrong
exit 1
