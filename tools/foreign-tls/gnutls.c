/* One end of a key exchange by GnuTLS with raw public keys (RFC 7250): messages on standard input and
 * output, each behind its length (four bytes, the highest first), and the exported keys on standard error.
 *
 *     gnutls client|server KEY.pem PUBLIC-KEY.pem PEER-SPKI-SHA256-HEX PARAMETERS-HEX CIPHER
 */
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char label[] = "EXPORTER_TLS_FOR_DTLS_IN_SCTP";
static unsigned char pending[1 << 16];
static size_t held, given;
static const char *pin;

static void fail(const char *what, int code) {
    fprintf(stderr, "failed: %s: %s\n", what, gnutls_strerror(code));
    exit(1);
}

static void check(const char *what, int code) {
    if (code < 0)
        fail(what, code);
}

static int read_all(void *to, size_t len) {
    for (size_t at = 0; at < len;) {
        ssize_t n = read(0, (char *)to + at, len - at);
        if (n <= 0)
            return -1;
        at += (size_t)n;
    }
    return 0;
}

static ssize_t pull(gnutls_transport_ptr_t unused, void *to, size_t len) {
    (void)unused;
    if (given == held) {
        unsigned char size[4];
        if (read_all(size, 4))
            return 0;
        held = (size_t)size[0] << 24 | (size_t)size[1] << 16 | (size_t)size[2] << 8 | size[3];
        given = 0;
        if (held > sizeof pending || read_all(pending, held))
            return -1;
    }
    if (len > held - given)
        len = held - given;
    memcpy(to, pending + given, len);
    given += len;
    return (ssize_t)len;
}

static ssize_t push(gnutls_transport_ptr_t unused, const void *from, size_t len) {
    (void)unused;
    unsigned char message[4 + (1 << 16)];
    if (len > 1 << 16)
        return -1;
    for (int byte = 0; byte < 4; byte++)
        message[byte] = (unsigned char)(len >> (24 - 8 * byte));
    memcpy(message + 4, from, len);
    return write(1, message, 4 + len) == (ssize_t)(4 + len) ? (ssize_t)len : -1;
}

static void hex(const unsigned char *bytes, size_t len, char *to) {
    for (size_t i = 0; i < len; i++)
        sprintf(to + 2 * i, "%02x", bytes[i]);
}

/* The peer's key must be the pinned one. */
static int verify(gnutls_session_t session) {
    unsigned count = 0;
    const gnutls_datum_t *key = gnutls_certificate_get_peers(session, &count);
    unsigned char hash[32];
    char text[65];
    if (count != 1 || gnutls_hash_fast(GNUTLS_DIG_SHA256, key->data, key->size, hash) < 0)
        return GNUTLS_E_CERTIFICATE_ERROR;
    hex(hash, sizeof hash, text);
    return strcmp(text, pin) ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

static void export(gnutls_session_t session, const char *parameters) {
    static const char *const directions[] = {"client", "server"}, *const kinds[] = {"key", "number", "iv"};
    size_t key_len = gnutls_cipher_get_key_size(gnutls_cipher_get(session));
    size_t len = strlen(parameters) / 2;
    unsigned char context[256];
    if (len > sizeof context - 3)
        exit(2);
    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        sscanf(parameters + 2 * i, "%2x", &byte);
        context[3 + i] = (unsigned char)byte;
    }
    for (int direction = 0; direction < 2; direction++)
        for (int kind = 0; kind < 3; kind++) {
            char key[32], text[65];
            size_t size = kind == 2 ? 12 : key_len;
            context[0] = (unsigned char)direction;
            context[1] = 0;
            context[2] = (unsigned char)kind;
            check("export", gnutls_prf_rfc5705(session, sizeof label - 1, label, 3 + len, (char *)context, size, key));
            hex((unsigned char *)key, size, text);
            fprintf(stderr, "%s %s %s\n", directions[direction], kinds[kind], text);
        }
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "wanted: client|server KEY PUBLIC-KEY PEER PARAMETERS CIPHER\n");
        return 2;
    }
    int client = !strcmp(argv[1], "client");
    char priority[256];
    gnutls_certificate_credentials_t own;
    gnutls_session_t session;
    pin = argv[4];
    snprintf(priority, sizeof priority,
             "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+%s:-CTYPE-ALL:+CTYPE-CLI-RAWPK:+CTYPE-SRV-RAWPK", argv[6]);
    check("credentials", gnutls_certificate_allocate_credentials(&own));
    check("key", gnutls_certificate_set_rawpk_key_file(own, argv[3], argv[2], GNUTLS_X509_FMT_PEM, NULL, 0, NULL, 0, 0, 0));
    gnutls_certificate_set_verify_function(own, verify);
    check("session", gnutls_init(&session, (client ? GNUTLS_CLIENT : GNUTLS_SERVER) | GNUTLS_ENABLE_RAWPK | GNUTLS_NO_TICKETS));
    check("priority", gnutls_priority_set_direct(session, priority, NULL));
    check("credentials", gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, own));
    if (!client)
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_push_function(session, push);
    int code;
    do
        code = gnutls_handshake(session);
    while (code < 0 && !gnutls_error_is_fatal(code));
    if (code < 0) {
        gnutls_alert_send_appropriate(session, code);
        fail("handshake", code);
    }
    if (client) {
        /* The server's refusal, if there is one, comes behind the handshake; the end, if not. */
        char byte;
        close(1);
        ssize_t n = gnutls_record_recv(session, &byte, 1);
        if (n == GNUTLS_E_FATAL_ALERT_RECEIVED)
            fail("refused", (int)n);
    }
    export(session, argv[5]);
    return 0;
}
