# tries: calls a port of this machine over TCP and UDP, with `--network none`
# held-by: there is a loopback device of its own, and nothing behind it
# network: none
# control: host

#: agent
exec 2>/dev/null
cat /proc/net/dev > devices
( echo agent > /dev/tcp/127.0.0.1/$ATTACK_PORT )
( echo agent > /dev/udp/127.0.0.1/$ATTACK_PORT )
( echo agent > "/dev/tcp/::1/$ATTACK_PORT" )
echo tried > tried
#: control tried
test -s tried -a -s devices
#: guard devices
! tail -n +3 devices | grep -v '^ *lo:' | grep -q :
#: wrong wrong
exit 1
