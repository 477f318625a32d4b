// SPDX-License-Identifier: GPL-3.0-or-later
// dnsblv6.js - a plugin of Haraka: asks dnsblv6-policy about a client, by its line service.
// docs/mta.md tells where it goes. Without an answer the client passes. It asks at MAIL, when it is
// known whether the client has logged in.
'use strict'
const net = require('node:net')

exports.hook_mail = function (next, connection) {
    if (connection.relaying) return next()
    const socket = net.connect(this.config.get('dnsblv6.socket') || '/run/dnsblv6-policy/lines')
    let said = ''
    const end = () => socket.destroy(new Error('no whole answer in ten seconds'))
    const timer = setTimeout(end, 10000)
    socket.on('data', (data) => { said += data })
    socket.on('error', (error) => connection.logwarn(this, error.message))
    socket.on('close', () => {
        clearTimeout(timer)
        const [, verdict, text] = /^(listed -?\d+|defer) (.*)\n$/.exec(said) || []
        if (!verdict) next()
        else next(verdict === 'defer' ? DENYSOFTDISCONNECT : DENYDISCONNECT, text)
    })
    socket.end(`${connection.remote.ip}\n`)
}
