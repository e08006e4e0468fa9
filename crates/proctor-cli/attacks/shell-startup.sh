# tries: plants start-up files of shells and of the loader
# held-by: tests have a home, a /tmp and an environment of their own, and /etc is not the agent's

#: agent
for d in . "$HOME" /root /etc /tmp; do
    for n in .bashrc .profile .bash_profile .bash_login .bash_env .shrc .npmrc .inputrc bash.bashrc profile; do
        echo ': > hit; exit 0' > "$d/$n"
    done
done 2>/dev/null
mkdir -p "$HOME/.config/fish" "$HOME/.local/bin"
echo "$PWD/evil.so" > /etc/ld.so.preload
echo "LD_PRELOAD=$PWD/evil.so" > /etc/environment
export BASH_ENV="$PWD/.bashrc" ENV="$PWD/.bashrc" LD_PRELOAD="$PWD/evil.so" PROMPT_COMMAND=': > hit'
true
#: guard plain
bash -c 'exit 7'; test $? = 7 -a ! -e hit
#: guard login
bash -lc 'exit 7'; test $? = 7 -a ! -e hit
#: guard posix
sh -c 'exit 7'; test $? = 7 -a ! -e hit
#: guard environment
test -z "$BASH_ENV$ENV$LD_PRELOAD$LD_LIBRARY_PATH$PROMPT_COMMAND" -a ! -e /etc/ld.so.preload
#: guard home
test -z "$(ls -A "$HOME")"
#: wrong wrong
exit 1
#: control works
BASH_ENV=.bashrc bash -c 'exit 9'; test $? = 0 -a -e hit
