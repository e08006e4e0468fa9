# tries: leaves a writer behind, in a session of its own, that changes the answer while tests run
# held-by: every process of the agent has ended before the first test starts

#: agent
setsid bash -c 'while :; do echo forged > answer; echo x >> alive; sleep 0.01; done' \
    >/dev/null 2>&1 </dev/null &
until test -s alive; do sleep 0.01; done
#: guard alone
echo mine > answer
for i in $(seq 100); do grep -q forged answer && exit 1; sleep 0.01; done
true
#: wrong wrong
grep -q never-written answer
#: control rewritten live
echo mine > answer
for i in $(seq 500); do grep -q forged answer && exit 0; sleep 0.01; done
exit 1
