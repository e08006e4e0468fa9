# tries: leaves a repository whose configuration, hooks and submodules run its programs when a test asks git
# held-by: git of a test starts no process in the workspace
# needs: git

#: agent
run() { git -c user.name=a -c user.email=a@b -c init.defaultBranch=main "$@" >/dev/null 2>&1; }
evil() {
    printf '[core]\n\tfsmonitor = ": > hit; : > ../hit #"\n\tpager = ": > hit #"\n\tsshCommand = ": > hit #"\n\teditor = ": > hit #"\n[filter "x"]\n\tclean = ": > hit; cat #"\n\tsmudge = ": > hit; cat #"\n[diff "x"]\n\ttextconv = ": > hit; cat #"\n\tcommand = ": > hit #"\n[diff]\n\texternal = ": > hit #"\n[alias]\n\tst = "!: > hit"\n[gpg]\n\tprogram = "./evil"\n[merge "x"]\n\tdriver = ": > hit #"\n' >> "$1"
}
mkdir honest && cd honest && run init && echo one > file && run add . && run commit -m first && echo two >> file
cd ..; mkdir evil && cd evil && run init && echo one > answer && run add . && run commit -m first
mkdir sub && cd sub && run init && echo x > x && run add . && run commit -m sub && evil .git/config && echo y > x
cd .. && run add sub && run commit -m second
for hook in pre-commit post-checkout post-index-change reference-transaction post-commit fsmonitor-watchman; do
    printf '#!/bin/sh\n: > hit; : > ../hit\n' > .git/hooks/$hook; chmod 755 .git/hooks/$hook
done
printf '#!/bin/sh\n: > hit\n' > evil; chmod 755 evil
echo '* filter=x diff=x merge=x' > .gitattributes
evil .git/config
cp .git/config "$HOME/.gitconfig"
echo two > answer
cd ..; cp -r evil/. .
#: guard answers
test "$(git -C honest log --format=%s)" = first && git -C honest diff | grep -q '^+two' &&
    git -C honest status --porcelain | grep -q file
#: wrong wrong
git -C honest diff --quiet HEAD
#: guard status
for d in . evil evil/sub; do git -C $d status; git -C $d status --porcelain; done >/dev/null 2>&1
test ! -e hit -a ! -e evil/hit -a ! -e evil/sub/hit
#: guard diff
for d in . evil evil/sub; do git -C $d diff; git -C $d diff HEAD; git -C $d diff --stat; done >/dev/null 2>&1
test ! -e hit -a ! -e evil/hit -a ! -e evil/sub/hit
#: guard more
for d in . evil evil/sub; do
    cd $d; git log -p; git show; git show --show-signature; git st; git add .; git -c user.name=t -c user.email=t@t commit -m x
    git stash; git checkout HEAD -- .; git blame answer; git ls-files; git submodule status; git grep x; cd - >/dev/null
done >/dev/null 2>&1
test ! -e hit -a ! -e evil/hit -a ! -e evil/sub/hit
#: guard elsewhere
w=$PWD; cd /
for d in . evil evil/sub; do
    git --git-dir="$w/$d/.git" --work-tree="$w/$d" status; GIT_DIR="$w/$d/.git" git diff; git -C "$w/$d" diff
done >/dev/null 2>&1
test ! -e "$w/hit" -a ! -e "$w/evil/hit" -a ! -e "$w/evil/sub/hit"
#: control works
unset GIT_DIR
real=$(type -aP git | while read -r g; do test "$(readlink -f "$g")" = "$(readlink -f "$(type -P ax-run-query)")" || echo "$g"; done | head -n 1)
"$real" -c safe.directory='*' -C evil status >/dev/null 2>&1
test -e hit -o -e evil/hit
