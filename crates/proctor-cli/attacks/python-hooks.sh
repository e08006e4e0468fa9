# tries: plants the files that Python and pytest read by themselves
# held-by: Python of a test looks for them where it is installed
# needs: python3

#: agent
site=$(python3 -c 'import site; print(site.getusersitepackages())')
mkdir -p "$site"
for d in . "$site"; do
    for n in sitecustomize.py usercustomize.py conftest.py; do
        echo 'import os; open("hit", "w"); os._exit(0)' > "$d/$n"
    done
    echo 'import os; open("hit", "w"); os._exit(0)' > "$d/evil.pth"
done
export PYTHONPATH="$PWD" PYTHONSTARTUP="$PWD/conftest.py" PYTHONHOME="$PWD"
true
#: guard here
python3 -c 'raise SystemExit(7)'; test $? = 7 -a ! -e hit
#: guard from-input
echo 'raise SystemExit(7)' | python3 -; test $? = 7 -a ! -e hit
#: guard elsewhere
here=$PWD; cd /; python3 -c 'raise SystemExit(7)'; test $? = 7 -a ! -e "$here/hit" -a ! -e /hit
#: wrong wrong
python3 -c 'assert False' 2>/dev/null
#: control works
PYTHONPATH=. python3 -c 'raise SystemExit(7)'; test $? = 0 -a -e hit
