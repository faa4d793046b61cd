/** A web server that answers the client’s address, and a name server that knows no name, in their own network. */
Bun.serve({
  hostname: '0.0.0.0',
  port: 80,
  fetch: (request, server) => new Response(`you are ${server.requestIP(request)?.address}\n`),
})
await Bun.udpSocket({
  hostname: '0.0.0.0',
  port: 53,
  socket: {
    data(socket, query, port, address) {
      // RFC 1035, 4.1.1: a response with recursion available and the code NXDOMAIN.
      const answer = Buffer.from(query)
      answer[2] = (query[2] ?? 0) | 0x80
      answer[3] = 0x83
      socket.send(answer, port, address)
    },
  },
})
console.log('open')
