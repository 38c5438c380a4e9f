// One end of a key exchange by Go's crypto/tls: messages on standard input and output, each behind
// its length (four bytes, the highest first), and the exported keys on standard error.
//
//	foreign-tls client|server CERTIFICATE.pem KEY.pem PEER-SPKI-SHA256-HEX PARAMETERS-HEX
package main

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

const label = "EXPORTER_TLS_FOR_DTLS_IN_SCTP"

// pipe is a connection of messages: what is written at once is one.
type pipe struct{ rest []byte }

func (p *pipe) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		var size [4]byte
		if _, err := io.ReadFull(os.Stdin, size[:]); err != nil {
			return 0, io.EOF
		}
		p.rest = make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(os.Stdin, p.rest); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *pipe) Write(b []byte) (int, error) {
	size := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
	if _, err := os.Stdout.Write(append(size, b...)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p *pipe) Close() error                     { return nil }
func (p *pipe) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (p *pipe) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (p *pipe) SetDeadline(time.Time) error      { return nil }
func (p *pipe) SetReadDeadline(time.Time) error  { return nil }
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

func pinned(peer string) func([][]byte, [][]*x509.Certificate) error {
	return func(raw [][]byte, _ [][]*x509.Certificate) error {
		certificate, err := x509.ParseCertificate(raw[0])
		if err != nil {
			return err
		}
		hash := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
		if hex.EncodeToString(hash[:]) != peer {
			return errors.New("the peer has another key")
		}
		return nil
	}
}

func run(role, certificate, key, peer, parameters string) error {
	own, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	config := &tls.Config{
		Certificates:           []tls.Certificate{own},
		MinVersion:             tls.VersionTLS13,
		InsecureSkipVerify:     true, // Its key is pinned instead.
		ClientAuth:             tls.RequireAnyClientCert,
		VerifyPeerCertificate:  pinned(peer),
		SessionTicketsDisabled: true,
	}
	var connection *tls.Conn
	if role == "client" {
		connection = tls.Client(&pipe{}, config)
	} else {
		connection = tls.Server(&pipe{}, config)
	}
	if err := connection.Handshake(); err != nil {
		return err
	}
	if role == "client" {
		// The server's refusal, if there is one, comes behind the handshake; the end, if not.
		os.Stdout.Close()
		if _, err := connection.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
	}
	return export(connection, parameters)
}

func export(connection *tls.Conn, parameters string) error {
	both, err := hex.DecodeString(parameters)
	if err != nil {
		return err
	}
	state := connection.ConnectionState()
	length := 32
	if state.CipherSuite == tls.TLS_AES_128_GCM_SHA256 {
		length = 16
	}
	for direction, name := range []string{"client", "server"} {
		for kind, size := range []int{length, length, 12} {
			context := append([]byte{byte(direction), 0, byte(kind)}, both...)
			key, err := state.ExportKeyingMaterial(label, context, size)
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "%s %s %x\n", name, []string{"key", "number", "iv"}[kind], key)
		}
	}
	return nil
}

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "wanted: client|server CERTIFICATE KEY PEER PARAMETERS")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, "failed:", err)
		os.Exit(1)
	}
}
