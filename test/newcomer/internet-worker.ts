/**
 * The public network: a web server that answers the client’s address, a name server, and an ACME authority. The
 * argument is a folder: the name server reads `names.json` of it at each query, and `ca.pem` of it has the certificates
 * that machines must trust.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../tools/package/project.ts'

const [folder = ''] = process.argv.slice(2)
const authority = 'acme.example.net'

Bun.serve({
  hostname: '::',
  port: 80,
  // The socket is of both families and names an IPv4 client as ::ffff:A.B.C.D.
  fetch: (request, server) =>
    new Response(`you are ${server.requestIP(request)?.address.replace(/^::ffff:(?=\d+\.)/, '')}\n`),
})

function findAddress(name: string): string | undefined {
  const names = JSON.parse(readFileSync(join(folder, 'names.json'), 'utf8')) as Record<string, string>
  return names[name.toLowerCase()]
}

/** RFC 1035, 4.1: an answer to a query with one question. Names have IPv4 addresses only. */
function answerQuery(query: Buffer): Buffer {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const question = query.subarray(12, at + 5)
  const address = findAddress(labels.join('.'))
  const hasRecord = address !== undefined && question.readUInt16BE(question.length - 4) === 1
  const header = Buffer.from(query.subarray(0, 12))
  header[2] = (query[2] ?? 0) | 0x80
  header[3] = address === undefined ? 0x83 : 0x80
  header.writeUInt16BE(hasRecord ? 1 : 0, 6)
  header.writeUInt32BE(0, 8)
  if (!hasRecord) return Buffer.concat([header, question])
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)])
  return Buffer.concat([header, question, record])
}

await Bun.udpSocket({
  hostname: '0.0.0.0',
  port: 53,
  socket: { data: (socket, query, port, address) => void socket.send(answerQuery(query), port, address) },
})

/** Starts Let’s Encrypt’s test server, which ends with this process. */
async function startAuthority(): Promise<void> {
  const [certificate, privateKey] = [join(folder, 'acme.crt'), join(folder, 'acme.key')]
  const request = 'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30'.split(' ')
  const names = ['-subj', `/CN=${authority}`, '-addext', `subjectAltName=DNS:${authority},DNS:localhost`]
  await run([...request, ...names, '-keyout', privateKey, '-out', certificate], '/')
  const pebble = {
    listenAddress: '0.0.0.0:14000',
    managementListenAddress: '127.0.0.1:15000',
    certificate,
    privateKey,
    httpPort: 80,
    tlsPort: 443,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  }
  writeFileSync(join(folder, 'pebble.json'), JSON.stringify({ pebble }))
  const command = ['pebble', '-config', join(folder, 'pebble.json'), '-dnsserver', '127.0.0.1:53']
  const env = { PATH: process.env['PATH'] ?? '', PEBBLE_VA_NOSLEEP: '1' }
  Bun.spawn(['setpriv', '--pdeathsig', 'KILL', ...command], { stdio: ['ignore', 'ignore', 'ignore'], env })
  const own = readFileSync(certificate, 'utf8')
  const fetchRoot = () => fetch('https://localhost:15000/roots/0', { tls: { ca: own } })
  let root = await fetchRoot().catch(() => undefined)
  while (root === undefined) {
    await Bun.sleep(100)
    root = await fetchRoot().catch(() => undefined)
  }
  writeFileSync(join(folder, 'ca.pem'), `${own}${await root.text()}`)
}

await startAuthority()
console.log('open')
