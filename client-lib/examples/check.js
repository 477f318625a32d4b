// SPDX-License-Identifier: BSD-2-Clause
//
// check.js - asks from Node.js, by koffi, which calls C without a compiler.
//
//     npm install koffi
//     node check.js 'bl6.example bl.example' 192.0.2.66 2001:db8::1
//
// dnsblv6_check() waits in a thread of koffi's, and the event loop goes on.
// DNSBLV6_SERVERS, when it is set, names resolvers in the place of resolv.conf's.
'use strict'
const koffi = require('koffi')

const TIMEOUT_MS = 2000
const RESULT_SIZE = 128 // verdict and score are its first two numbers

const library = koffi.load('libdnsblv6.so.0')
koffi.opaque('dnsblv6')
const dnsblv6 = {}
for (const prototype of [
    'int dnsblv6_new(_Out_ dnsblv6 **ret_client)',
    'int dnsblv6_set(dnsblv6 *client, const char *key, const char *value)',
    'int dnsblv6_start(dnsblv6 *client)',
    'const char *dnsblv6_error(dnsblv6 *client)',
    'void dnsblv6_free(dnsblv6 *client)',
    'int dnsblv6_ip_parse(const char *text, uint8_t *ret_ip)',
    'int dnsblv6_check(dnsblv6 *client, const uint8_t *ip, int timeout_ms, uint8_t *ret_result)',
    'const char *dnsblv6_verdict_name(int verdict)',
    'const char *dnsblv6_strerror(int status)',
]) {
    dnsblv6[/dnsblv6_(\w+)\(/.exec(prototype)[1]] = library.func(prototype)
}

function start(options) {
    const made = [null]
    if (dnsblv6.new(made) < 0) throw new Error('no memory')
    const client = made[0]
    for (const [key, value] of Object.entries(options)) {
        if (dnsblv6.set(client, key, value) < 0) throw new Error(dnsblv6.error(client))
    }
    if (dnsblv6.start(client) < 0) throw new Error(dnsblv6.error(client))
    return client
}

function check(client, address) {
    const ip = Buffer.alloc(16)
    const result = Buffer.alloc(RESULT_SIZE)
    return new Promise((resolve, reject) => {
        const fail = (status) => reject(new Error(`${address}: ${dnsblv6.strerror(status)}`))
        const status = dnsblv6.ip_parse(address, ip)
        if (status < 0) return fail(status)
        dnsblv6.check.async(client, ip, TIMEOUT_MS, result, (error, status) => {
            if (error) return reject(error)
            if (status < 0) return fail(status)
            const number = (index) => new Int32Array(result.buffer, result.byteOffset, 2)[index]
            resolve({ verdict: dnsblv6.verdict_name(number(0)), score: number(1) })
        })
    })
}

async function main(zones, addresses) {
    const options = { zones }
    if (process.env.DNSBLV6_SERVERS) options.servers = process.env.DNSBLV6_SERVERS
    const client = start(options)
    await Promise.all(addresses.map(async (address) => {
        try {
            const { verdict, score } = await check(client, address)
            console.log(`${address}: ${verdict}, score ${score}`)
        } catch (error) {
            console.error(error.message)
        }
    }))
    dnsblv6.free(client)
}

if (process.argv.length < 4) {
    console.error('usage: node check.js ZONES ADDRESS ...')
    process.exitCode = 64
} else {
    main(process.argv[2], process.argv.slice(3))
}
