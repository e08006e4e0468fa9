# tries: leaves a hundred thousand files
# held-by: what an agent leaves is listed and compared, however much it is

#: agent
mkdir many && cd many && seq 100000 | xargs touch
#: control there
test -e many/100000
#: guard writable
rm many/1 && echo x > many/2 && grep -q x many/2
#: wrong wrong
test -e many/1
