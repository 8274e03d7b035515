# Runs in the lab, whose kernel is another one than this machine's: it takes nicety's programs.
. ./common.sh
uname -r
nicety bench plan.toml --engine xdp --for 3m --out out/xdp >/dev/null || [ $? -eq 1 ]
