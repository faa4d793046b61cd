import type { udp } from 'bun'

/** A name server whose answers end in `last`; without it, the answer is SERVFAIL. `note` gets the bytes of both. */
export function serveNames(
  hostname: string,
  last: number | undefined,
  at = 53,
  note: (queryBytes: number, answerBytes: number) => void = () => {},
): Promise<udp.Socket<'buffer'>> {
  return Bun.udpSocket({
    hostname,
    port: at,
    socket: {
      data(socket, query, port, address) {
        const code = last === undefined ? 0x82 : Buffer.from(query).includes('missing') ? 0x83 : 0x80
        // RFC 1035: the query as a response, with one A record of 60 s, or with the code NXDOMAIN or SERVFAIL.
        const head = Buffer.from(query)
        head[2] = (query[2] ?? 0) | 0x80
        head[3] = code
        const question = head.subarray(0, 12 + head.subarray(12).indexOf(0) + 5)
        question.writeUInt16BE(code === 0x80 ? 1 : 0, 6)
        question.writeUInt16BE(0, 10)
        const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, last ?? 0]
        const answer = Buffer.concat([question, Buffer.from(code === 0x80 ? record : [])])
        socket.send(answer, port, address)
        note(query.length, answer.length)
      },
    },
  })
}
