import { lookup } from 'node:dns/promises'
import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { machineCommand } from '../../cli/command.ts'
import { hostAndPort } from '../../core/address.ts'
import { failuresIn } from '../../dataplane/tls/acme/renewal.ts'
import { BadCertificate, type Certificate, type CertificateFiles, readFiles } from '../../dataplane/tls/certificate.ts'
import { findMissing, lookAtMachine } from '../../dataplane/wireguard/run.ts'
import { diskOf, fileLimit } from '../metrics/process.ts'
import { configOf } from '../process.ts'
import { type Config, listenUrl } from '../settings/config.ts'
import { acmeFolder, certificateFilesOf, isTls } from '../settings/tls.ts'
import { findUnknownSettings } from '../settings/unknown.ts'
import { untrustedProxy } from '../shop/forwarding.ts'
import {
  type Advice,
  adviseCertificate,
  adviseDisk,
  adviseFiles,
  adviseMode,
  adviseOwnCertificate,
  adviseProxies,
  adviseSetting,
  note,
  ok,
  wrong,
} from './advice.ts'
import { lookAtShop } from './shop.ts'

const marks = { ok: 'ok   ', note: 'NOTE ', wrong: 'WRONG' } as const

export const doctorCommand = machineCommand({
  name: 'doctor',
  summary: 'Checks the machine, settings, database and nodes, and advises what to fix; exits with 1 if a check fails.',
  async run(given) {
    const config = configOf(given)
    const all = [...(await lookAtShop(config)), ...(await lookAtThisMachine(config))]
    const bad = all.filter((each) => each.state === 'wrong').length
    return {
      json: { ok: bad === 0, advice: all },
      lines: [
        ...all.flatMap(({ of, state, says, todo }) => [
          `${marks[state]}  ${of}: ${says.replace(/\.$/, '')}.`,
          ...(todo === '' ? [] : [`         ${todo.replace(/\.$/, '')}.`]),
        ]),
        bad === 0 ? 'All checks passed.' : `${bad} ${bad === 1 ? 'check' : 'checks'} failed.`,
      ],
      exit: bad === 0 ? 0 : 1,
    }
  },
})

const answerWithinMs = 3_000

/** Checks the machine that a shop or a node runs on. Changes nothing and asks no other machine. */
async function lookAtThisMachine(config: Config): Promise<Advice[]> {
  return [
    ...findUnknownSettings(process.env).map(adviseSetting),
    adviseDisk('disk of the data folder', diskOf(config.folder)),
    ...(config.backupFolder === undefined ? [] : [adviseDisk('disk of the backups', diskOf(config.backupFolder))]),
    adviseFiles(fileLimit('hard'), config.gatewayConnections, config.gatewayTlsPort > 0),
    ...adviseRights(config),
    ...(await Promise.all([...lookAtPorts(config), ...lookAtNames(config)])),
    ...(await lookAtProxies(config)),
    ...lookAtOwnCertificate(config),
    ...(await lookAtCertificate(config)),
    adviseWireguard(config),
  ]
}

const adviseRights = (config: Config): Advice[] =>
  [config.folder, ...['turnpike.db', 'secret.key'].map((name) => `${config.folder}/${name}`)].flatMap((path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    // A shop on PostgreSQL has no database file, and a shop whose key is a setting has no key file.
    if (!found && path !== config.folder) return []
    return [adviseMode(path, found?.mode, found === undefined || found.uid === process.geteuid?.())]
  })

/** Each port is free, or its own role answers there. */
function lookAtPorts(config: Config): Promise<Advice>[] {
  const { port, gatewayPort, gatewayTlsPort: tlsPort, metricsListen: metrics } = config
  const look = async (number: number, role: string, url: string, isOurs: RegExp): Promise<Advice> => {
    const of = `port ${number} of ${role}`
    try {
      // This only detects Turnpike; the certificate is checked below.
      const anyone: object = { tls: { rejectUnauthorized: false } }
      const init = { ...anyone, signal: AbortSignal.timeout(answerWithinMs), redirect: 'manual' } as const
      const answer = await fetch(url, init)
      const text = `${JSON.stringify(Object.fromEntries(answer.headers))}${await answer.text()}`
      return isOurs.test(text) ? ok(of, 'port_ours') : wrong(of, 'port_taken')
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      return /Refused|ECONNREFUSED/i.test(code) ? note(of, 'port_free') : wrong(of, 'port_strange')
    }
  }
  const metricsUrl = metrics && `http://${hostAndPort(metrics.host, metrics.port)}/metrics`
  return [
    look(port, 'the shop', `${listenUrl(config)}/healthz`, /"ok":true/),
    look(gatewayPort, 'the gateway', `http://127.0.0.1:${gatewayPort}/`, /turnpike/i),
    ...(tlsPort > 0 ? [look(tlsPort, 'the gateway over TLS', `https://127.0.0.1:${tlsPort}/`, /turnpike/i)] : []),
    ...(metricsUrl ? [look(metrics.port, "the shop's figures", metricsUrl, /turnpike_build_info/)] : []),
  ]
}

function lookAtNames(config: Config): Promise<Advice>[] {
  const hosts = [config.gatewayHost, config.vpnHost, URL.parse(config.publicUrl ?? '')?.hostname ?? '']
  const names = [...new Set(hosts)].filter((host) => host !== '' && isIP(host.replace(/^\[|\]$/g, '')) === 0)
  return names.map(async (name) => {
    const of = `name ${name}`
    const found = await Promise.race([
      lookup(name, { all: true }).then(
        (all) => all.map((each) => each.address),
        () => [],
      ),
      Bun.sleep(answerWithinMs).then(() => []),
    ])
    return found.length > 0 ? ok(of, 'name_found', { addresses: found }) : wrong(of, 'name_missing')
  })
}

/** Whether the running shop has seen an untrusted proxy, and whether there has to be one. */
async function lookAtProxies(config: Config): Promise<readonly Advice[]> {
  const readiness = await fetch(`${listenUrl(config)}/readyz`, {
    signal: AbortSignal.timeout(answerWithinMs),
    tls: { rejectUnauthorized: false },
  })
    .then((answer) => answer.text())
    .catch(() => '')
  return adviseProxies({
    isForwarded: readiness.includes(untrustedProxy),
    isBehindTls: config.publicUrl?.startsWith('https:') === true && !isTls(config),
    trusted: config.trustedProxies.length,
  })
}

function lookAtOwnCertificate(config: Config): Advice[] {
  const files = certificateFilesOf(config)
  if (!files) return []
  const failures = config.acmeNames.length > 0 ? failuresIn(acmeFolder(config.folder)) : 0
  return [adviseOwnCertificate(files.cert, findCertificate(files), failures, Date.now())]
}

function findCertificate(files: CertificateFiles): Certificate | string {
  try {
    return readFiles(files)
  } catch (error) {
    if (error instanceof BadCertificate) return error.message
    throw error
  }
}

async function lookAtCertificate(config: Config): Promise<Advice[]> {
  const url = URL.parse(config.publicUrl ?? '')
  if (url?.protocol !== 'https:') return []
  const { endsAt, problem, lifeMs } = await certificateOf(url.hostname, Number(url.port || 443))
  return [adviseCertificate(url.hostname, endsAt, problem, Date.now(), lifeMs)]
}

type Seen = { readonly endsAt?: number; readonly lifeMs?: number; readonly problem: string }

function certificateOf(host: string, port: number): Promise<Seen> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, servername: isIP(host) === 0 ? host : '', rejectUnauthorized: false })
    const end = (seen: Seen): void => {
      socket.destroy()
      resolve(seen)
    }
    socket.setTimeout(answerWithinMs, () => end({ problem: 'no answer in time' }))
    socket.once('error', (error) => end({ problem: error.message }))
    socket.once('secureConnect', () => {
      const { valid_from: from, valid_to: until } = socket.getPeerCertificate()
      const endsAt = Date.parse(until)
      const problem = socket.authorized ? '' : String(socket.authorizationError ?? 'unknown')
      end({ problem, ...(!Number.isNaN(endsAt) && { endsAt, lifeMs: endsAt - Date.parse(from) }) })
    })
  })
}

function adviseWireguard(config: Config): Advice {
  const of = 'WireGuard'
  const missing = findMissing(lookAtMachine())
  if (missing.length === 0) return ok(of, 'wireguard_ready')
  const needed = config.localNodes.includes('vpn')
  const params = { missing: missing.map((each) => each.what), how: missing.map((each) => each.how), needed }
  return needed ? wrong(of, 'wireguard_missing', params) : note(of, 'wireguard_missing', params)
}
