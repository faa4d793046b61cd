import { clientAddress, run } from './clients.ts'
import type { BoughtProxy } from './gateway.ts'

export const urlOf = (scheme: string, proxy: BoughtProxy | undefined): string =>
  `${scheme}://${proxy?.username}:${proxy?.password}@${proxy?.ip}:${proxy?.port}`

const nodeProgram = `
const http = require('node:http')
const tls = require('node:tls')
const [proxy, plain, secure, localAddress] = process.argv.slice(1)
const at = new URL(proxy)
const basic = 'Basic ' + Buffer.from(at.username + ':' + at.password).toString('base64')
const there = { host: at.hostname, port: at.port, localAddress, timeout: 60000 }
const headers = { Host: new URL(plain).host, 'Proxy-Authorization': basic }

const ask = (agent) => new Promise((resolve, reject) => {
  const request = http.request({ ...there, agent, path: plain + '/', headers }, (answer) => {
    answer.resume()
    answer.on('end', () => resolve(answer.statusCode))
  })
  request.on('error', reject)
  request.end()
})

const tunnel = () => new Promise((resolve, reject) => {
  const { host, hostname } = new URL(secure)
  const request = http.request({ ...there, method: 'CONNECT', path: host, headers: { Host: host, 'Proxy-Authorization': basic } })
  request.on('error', reject)
  request.on('connect', (answer, socket) => {
    if (answer.statusCode !== 200) return resolve(answer.statusCode)
    const inner = tls.connect({ socket, rejectUnauthorized: false }, () => {
      const agent = new http.Agent({ keepAlive: false })
      agent.createConnection = () => inner
      http.get({ agent, host: hostname, path: '/', headers: { Host: host } }, (last) => {
        last.resume()
        last.on('end', () => resolve(last.statusCode))
      })
    })
    inner.on('error', reject)
  })
  request.end()
})

void (async () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const kept = [await ask(agent), await ask(agent)]
  agent.destroy()
  console.log(JSON.stringify({ forwarded: await ask(), kept, tunnelled: await tunnel() }))
})()
`

const pythonProgram = `
import http.client, json, ssl, sys, urllib.error, urllib.parse, urllib.request
proxy, plain, secure, source = sys.argv[1:]
anyone = ssl._create_unverified_context()
at, there = urllib.parse.urlsplit(proxy), urllib.parse.urlsplit(secure)

def opener(url):
    handlers = urllib.request.ProxyHandler({'http': url, 'https': url}), urllib.request.HTTPSHandler(context=anyone)
    return urllib.request.build_opener(*handlers)

answers = {'forwarded': opener(proxy).open(plain, timeout=60).status, 'tunnelled': opener(proxy).open(secure, timeout=60).status}

import base64
basic = 'Basic ' + base64.b64encode(f'{at.username}:{at.password}'.encode()).decode()
client = http.client.HTTPConnection(at.hostname, at.port, timeout=60, source_address=(source, 0))
target = urllib.parse.urlsplit(plain)
client.set_tunnel(target.hostname, target.port, {'Proxy-Authorization': basic})
client.request('GET', '/')
answers['client'] = client.getresponse().status

try:
    opener(f'http://{at.username}:wrong@{at.hostname}:{at.port}').open(plain, timeout=60)
except urllib.error.HTTPError as error:
    answers['refused'] = error.code
print(json.dumps(answers))
`

async function readAnswers(...command: readonly string[]): Promise<unknown> {
  const ran = await run(...command)
  if (ran.exit !== 0) throw new Error(`${command[0]} failed: ${ran.err}`)
  return JSON.parse(ran.out)
}

/** Node's http.request: an absolute address, two of them on one connection, and CONNECT by hand with TLS within. */
export const nodeAsks = (proxy: BoughtProxy, plain: string, secure: string): Promise<unknown> =>
  readAnswers('node', '-e', nodeProgram, urlOf('http', proxy), plain, secure, clientAddress)

/** Python's urllib for http and https, http.client with set_tunnel, and a wrong password. */
export const pythonAsks = (proxy: BoughtProxy, plain: string, secure: string): Promise<unknown> =>
  readAnswers('python3', '-c', pythonProgram, urlOf('http', proxy), plain, secure, clientAddress)
