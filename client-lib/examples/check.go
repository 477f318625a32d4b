// SPDX-License-Identifier: BSD-2-Clause

// check.go - asks from Go: one handle, and as many goroutines as there are clients.
//
//	go build check.go
//	./check 'bl6.example bl.example' 192.0.2.66 2001:db8::1
//
// A goroutine that waits for DNS holds a thread of the system; a server bounds how many do.
// DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.
package main

// #cgo pkg-config: dnsblv6
// #include <dnsblv6.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"os"
	"sync"
	"unsafe"
)

const timeoutMS = 2000

func set(client *C.struct_dnsblv6, key, value string) error {
	k, v := C.CString(key), C.CString(value)
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	if C.dnsblv6_set(client, k, v) < 0 {
		return fmt.Errorf("%s", C.GoString(C.dnsblv6_error(client)))
	}
	return nil
}

func start(client *C.struct_dnsblv6, zones string) error {
	if err := set(client, "zones", zones); err != nil {
		return err
	}
	if servers := os.Getenv("DNSBLV6_SERVERS"); servers != "" {
		if err := set(client, "servers", servers); err != nil {
			return err
		}
	}
	if C.dnsblv6_start(client) < 0 {
		return fmt.Errorf("%s", C.GoString(C.dnsblv6_error(client)))
	}
	return nil
}

func check(client *C.struct_dnsblv6, address string) {
	var ip C.struct_dnsblv6_ip
	var result C.struct_dnsblv6_result
	text := C.CString(address)
	defer C.free(unsafe.Pointer(text))
	ret := C.dnsblv6_ip_parse(text, &ip)
	if ret == 0 {
		ret = C.dnsblv6_check(client, &ip, timeoutMS, &result)
	}
	if ret < 0 {
		fmt.Fprintf(os.Stderr, "%s: %s\n", address, C.GoString(C.dnsblv6_strerror(ret)))
		return
	}
	verdict := C.GoString(C.dnsblv6_verdict_name(C.int(result.verdict)))
	fmt.Printf("%s: %s, score %d\n", address, verdict, int(result.score))
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintf(os.Stderr, "usage: %s ZONES ADDRESS ...\n", os.Args[0])
		os.Exit(64)
	}
	var client *C.struct_dnsblv6
	if C.dnsblv6_new(&client) < 0 {
		os.Exit(71)
	}
	defer C.dnsblv6_free(client)
	if err := start(client, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(78)
	}
	var sessions sync.WaitGroup
	for _, address := range os.Args[2:] {
		sessions.Add(1)
		go func(address string) {
			defer sessions.Done()
			check(client, address)
		}(address)
	}
	sessions.Wait()
}
