#!/usr/bin/env bash
# Key exchanges with other TLS libraries, each as client and as server: both ends must export the same
# keys, and refuse a peer that has another key than the pinned one. Go's crypto/tls with certificates
# that sign themselves (it has no raw public keys), GnuTLS with raw public keys (RFC 7250).
# Wants go, cc, openssl and libgnutls28-dev; what is missing is skipped in one line.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Both ends' DTLS Key Management Parameters, as an INIT and an INIT ACK would carry them.
parameters=8006000a0102030400c08006000b0908070600c000
failed=0

cargo build --quiet --package polypath-secure --features pki --example exchange_pipe
target=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
ours=$target/debug/examples/exchange_pipe

for who in ours theirs other; do
    openssl genpkey -algorithm ed25519 -out "$work/$who.key" 2>/dev/null
    openssl pkey -in "$work/$who.key" -pubout -out "$work/$who.pub"
    openssl req -x509 -new -key "$work/$who.key" -subj "/CN=$who" -days 30 -out "$work/$who.crt" 2>/dev/null
    openssl pkey -in "$work/$who.key" -pubout -outform DER | openssl dgst -sha256 -binary >"$work/$who.hash"
done
hex() { od -An -tx1 "$work/$1.hash" | tr -d ' \n'; }
pin() { echo "pp:$(base32 -w0 "$work/$1.hash" | tr -d = | tr '[:upper:]' '[:lower:]')"; }

# converse ROLE WHOM-WE-EXPECT CERTIFICATE-OR-NOTHING FOREIGN-COMMAND...: both ends' codes in $us and $them.
converse() {
    local role=$1 peer=$2 certificate=$3
    shift 3
    rm -f "$work/in" "$work/out"
    mkfifo "$work/in" "$work/out"
    us=0 them=0
    timeout 20 "$@" <"$work/in" >"$work/out" 2>"$work/theirs.log" &
    # $certificate is one word or none.
    # shellcheck disable=SC2086
    timeout 20 "$ours" "$role" "$work/ours.key" "$peer" $parameters $certificate \
        >"$work/in" <"$work/out" 2>"$work/ours.log" || us=$?
    wait $! || them=$?
}

row() { printf '%-8s %-18s %-8s %-22s %s\n' "$@"; }

agree() { # LIBRARY CIPHER OUR-ROLE
    local result=FAILED
    if [[ $us == 0 && $them == 0 ]] && grep -qx "peer $(pin theirs)" "$work/ours.log" \
        && [[ $(grep -c . "$work/theirs.log") == 6 ]] \
        && diff <(grep -v ^peer "$work/ours.log") "$work/theirs.log" >/dev/null; then
        result="equal, 6 exports"
    else
        failed=1
        sed 's/^/    ours: /' "$work/ours.log"
        sed 's/^/    theirs: /' "$work/theirs.log"
    fi
    row "$1" "$2" "$3" "$result" ""
}

refuse() { # LIBRARY CIPHER OUR-ROLE WHO-REFUSES
    local result=FAILED
    if [[ $us != 0 && $them != 0 ]] && ! grep -q ' key ' "$work/theirs.log"; then
        result="refused by $4"
    else
        failed=1
    fi
    row "$1" "$2" "$3" "$result" "$(tail -n 1 "$work/ours.log")"
}

other() { [[ $1 == client ]] && echo server || echo client; }

row library cipher we result "what we say"
go=$(command -v go || echo /usr/local/go/bin/go)
if [[ -x $go ]]; then
    (cd tools/foreign-tls && "$go" build -o "$work/go-tls" main.go)
    for role in client server; do
        them=("$work/go-tls" "$(other $role)" "$work/theirs.crt" "$work/theirs.key")
        command=("${them[@]}" "$(hex ours)" $parameters)
        converse $role "$(pin theirs)" "$work/ours.crt" "${command[@]}"
        agree Go "its choice" $role
        converse $role "$(pin other)" "$work/ours.crt" "${command[@]}"
        refuse Go "its choice" $role us
        command=("$work/go-tls" "$(other $role)" "$work/theirs.crt" "$work/theirs.key" "$(hex other)" $parameters)
        converse $role "$(pin theirs)" "$work/ours.crt" "${command[@]}"
        refuse Go "its choice" $role them
    done
else
    echo "Go: skipped, there is no go"
fi
if cc -O -Wall -o "$work/gnutls" tools/foreign-tls/gnutls.c -lgnutls 2>"$work/cc.log"; then
    for cipher in AES-128-GCM AES-256-GCM CHACHA20-POLY1305; do
        for role in client server; do
            command=("$work/gnutls" "$(other $role)" "$work/theirs.key" "$work/theirs.pub" "$(hex ours)" $parameters $cipher)
            converse $role "$(pin theirs)" "" "${command[@]}"
            agree GnuTLS $cipher $role
        done
    done
    for role in client server; do
        command=("$work/gnutls" "$(other $role)" "$work/theirs.key" "$work/theirs.pub" "$(hex ours)" $parameters AES-128-GCM)
        converse $role "$(pin other)" "" "${command[@]}"
        refuse GnuTLS AES-128-GCM $role us
        command=("$work/gnutls" "$(other $role)" "$work/theirs.key" "$work/theirs.pub" "$(hex other)" $parameters AES-128-GCM)
        converse $role "$(pin theirs)" "" "${command[@]}"
        refuse GnuTLS AES-128-GCM $role them
    done
else
    echo "GnuTLS: skipped: $(tail -n 1 "$work/cc.log")"
fi
exit $failed
