import { X509Certificate } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { existsSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { machineCommand, mistyped } from '../../cli/command.ts'
import { hostAndPort } from '../../core/address.ts'
import { failuresIn } from '../../dataplane/tls/acme/renewal.ts'
import {
  BadCertificate,
  type Certificate,
  type CertificateFiles,
  coversName,
  readFiles,
} from '../../dataplane/tls/certificate.ts'
import { findOpenSslLack } from '../../dataplane/tls/openssl/library.ts'
import type { NodeKind } from '../../domains/fleet/rules.ts'
import { diskOf, fileLimit, metricsAddressOf } from '../metrics/process.ts'
import { configOf } from '../process.ts'
import { findSandboxCertificate } from '../sandbox-tls.ts'
import { type Config, databaseAddress, listenUrl, nodeFolder } from '../settings/config.ts'
import { secretKeyFile } from '../settings/secret-key.ts'
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
  adviseTlsLibrary,
  isRefused,
  note,
  ok,
  wrong,
} from './advice.ts'
import { terminalLanguageOf, toSummary, translate } from './messages.ts'
import { lookAtNode, runsVpnNode } from './node.ts'
import { lookAtClock, lookAtShop } from './shop.ts'
import { type DoctorSubject, type PortOwner, subject } from './subjects.ts'

const marks = { ok: 'ok   ', note: 'NOTE ', wrong: 'WRONG' } as const

const roles = ['shop', 'gateway', 'vpn-node'] as const
type Role = (typeof roles)[number]

export const doctorCommand = machineCommand({
  name: 'doctor',
  summary: 'Checks this machine and each role on it, and advises what to fix; exits with 1 if something must be fixed.',
  options: [{ flag: 'role', value: 'ROLE', meaning: 'check only this role: shop, gateway or vpn-node' }],
  async run(given) {
    const config = configOf(given)
    const checked = given.flags['role'] === undefined ? findRoles(config) : [readRole(given.flags['role'])]
    const language = terminalLanguageOf(process.env)
    const found = [...(await lookAtRoles(config, checked)), ...(await lookAtThisMachine(config, checked))]
    const all = found.map((each) => translate(each, language))
    const count = (state: Advice['state']): number => all.filter((each) => each.state === state).length
    const isWell = count('wrong') === 0
    return {
      json: { ok: isWell, roles: checked, advice: all },
      lines: [
        ...all.flatMap(({ of, state, says, todo }) => [
          `${marks[state]}  ${of}: ${says.replace(/\.$/, '')}.`,
          ...(todo === '' ? [] : [`         ${todo.replace(/\.$/, '')}.`]),
        ]),
        toSummary(count('wrong'), count('note'), language),
      ],
      exit: isWell ? 0 : 1,
    }
  },
})

/** The roles that have data in this data folder, or that the settings name. */
function findRoles(config: Config): readonly Role[] {
  const hasShop = [databaseAddress(config), secretKeyFile(config.folder)].some((path) => existsSync(path))
  const hasNode = (kind: NodeKind): boolean => config.localNodes.includes(kind) || existsSync(nodeFolder(config, kind))
  return [
    ...(hasShop || config.databaseUrl !== undefined ? ['shop' as const] : []),
    ...(hasNode('gateway') ? ['gateway' as const] : []),
    ...(hasNode('vpn') ? ['vpn-node' as const] : []),
  ]
}

function readRole(text: string): Role {
  const found = roles.find((role) => role === text)
  if (found) return found
  throw mistyped(`--role must be ${roles.join(', ')}.`)
}

async function lookAtRoles(config: Config, checked: readonly Role[]): Promise<Advice[]> {
  const shop = checked.includes('shop') ? await lookAtShop(config) : [lookAtClock()]
  // The shop refuses nodes as long as that lasts.
  if (shop.some(({ reason }) => reason === 'database_moved')) return shop
  return [
    ...(checked.length === 0 ? [wrong(subject.role, 'role_none', { folder: config.folder })] : []),
    ...shop,
    ...(checked.includes('gateway') ? await lookAtNode(config, 'gateway') : []),
    ...(checked.includes('vpn-node') ? await lookAtNode(config, 'vpn') : []),
  ]
}

const answerWithinMs = 3_000

/** Checks the machine of these roles. Changes nothing. */
async function lookAtThisMachine(config: Config, checked: readonly Role[]): Promise<Advice[]> {
  const isShop = checked.includes('shop')
  return [
    ...findUnknownSettings(process.env).map(adviseSetting),
    adviseDisk(subject.dataDisk, diskOf(config.folder)),
    ...(config.backupFolder === undefined ? [] : [adviseDisk(subject.backupDisk, diskOf(config.backupFolder))]),
    ...(checked.includes('gateway')
      ? [
          adviseFiles(fileLimit('hard'), config.gatewayConnections, config.gatewayTlsPort > 0),
          ...(needsOpenSsl(config) ? [adviseTlsLibrary(findOpenSslLack())] : []),
        ]
      : []),
    ...adviseRights(config),
    ...(await lookAtPorts(config, checked)),
    ...(isShop ? await Promise.all(lookAtNames(config)) : []),
    ...(isShop ? await lookAtProxies(config) : []),
    ...lookAtOwnCertificate(config, checked.includes('gateway')),
    ...(isShop ? await lookAtCertificate(config) : []),
  ]
}

/** The portable engine does TLS without the system's library. */
const needsOpenSsl = ({ gatewayTlsPort, gatewayEngine }: Config): boolean =>
  process.platform === 'linux' && gatewayTlsPort > 0 && gatewayEngine !== 'portable'

const adviseRights = (config: Config): Advice[] =>
  [config.folder, ...['turnpike.db', 'secret.key'].map((name) => `${config.folder}/${name}`)].flatMap((path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    // A shop on PostgreSQL has no database file, and a shop whose key is a setting has no key file.
    if (!found && path !== config.folder) return []
    return [adviseMode(path, found?.mode, found === undefined || found.uid === process.geteuid?.())]
  })

const portSettings: Readonly<Record<PortOwner, string>> = {
  shop: 'TURNPIKE_PORT',
  gateway: 'TURNPIKE_GATEWAY_PORT',
  'gateway-tls': 'TURNPIKE_GATEWAY_TLS_PORT',
  'shop-metrics': 'TURNPIKE_METRICS_LISTEN',
  'gateway-metrics': 'TURNPIKE_METRICS_LISTEN',
  'vpn-node-metrics': 'TURNPIKE_METRICS_LISTEN',
}

type Port = {
  readonly number: number
  readonly of: PortOwner
  readonly url: string
  /** What the answer contains, or the fingerprint of the certificate where the answer is that of any site. */
  readonly isOurs: RegExp | { readonly fingerprint: string }
}

/** Whether each role answers at its ports; metrics are missed only while the role itself runs. */
async function lookAtPorts(config: Config, checked: readonly Role[]): Promise<Advice[]> {
  const found = await Promise.all(
    checked.map(async (role) => {
      const unit = `turnpike-${role}`
      const served = await Promise.all(
        portsOf(config, role).map((port) =>
          lookAtPort(port, (of, asked) => wrong(of, 'port_free', { ...asked, unit })),
        ),
      )
      const metrics = metricsAddressOf(config, role)
      const isRunning = role === 'vpn-node' ? runsVpnNode(config) : served.every((each) => each.state === 'ok')
      if (!metrics || !isRunning) return served
      const port = {
        number: metrics.port,
        of: `${role}-metrics` as const,
        url: `http://${hostAndPort(metrics.host, metrics.port)}/metrics`,
        isOurs: /turnpike_build_info/,
      }
      return [...served, await lookAtPort(port, (of) => note(of, 'metrics_port_free', { unit }))]
    }),
  )
  return found.flat()
}

function portsOf(config: Config, role: Role): readonly Port[] {
  const { port, gatewayPort, gatewayTlsPort: tlsPort, gatewayListen } = config
  if (role === 'shop') {
    return [{ number: port, of: 'shop', url: `${listenUrl(config)}/healthz`, isOurs: /"ok":true/ }]
  }
  if (role === 'vpn-node') return []
  const host = ['::', '0.0.0.0'].includes(gatewayListen) ? '127.0.0.1' : gatewayListen
  const at = (scheme: string, number: number) => ({
    number,
    url: `${scheme}://${hostAndPort(host, number)}/`,
    isOurs: /turnpike/i,
  })
  return [
    { of: 'gateway' as const, ...at('http', gatewayPort) },
    ...(tlsPort > 0 ? [{ of: 'gateway-tls' as const, ...at('https', tlsPort), ...ownFingerprint(config) }] : []),
  ]
}

/** A gateway with a site is known by its certificate. */
function ownFingerprint(config: Config): Pick<Port, 'isOurs'> | undefined {
  const files =
    config.gatewaySite.kind === 'off' ? undefined : (certificateFilesOf(config) ?? findSandboxCertificate(config))
  const own = files && findCertificate(files)
  if (!own || typeof own === 'string') return undefined
  return { isOurs: { fingerprint: new X509Certificate(own.cert).fingerprint256 } }
}

type AskedPort = { readonly setting: string; readonly at: string }

async function lookAtPort(port: Port, whenFree: (of: DoctorSubject, asked: AskedPort) => Advice): Promise<Advice> {
  const of = subject.port(port.number, port.of)
  const host = new URL(port.url).hostname.replace(/^\[|\]$/g, '')
  const asked = { setting: portSettings[port.of], at: hostAndPort(host, port.number) }
  const { isOurs } = port
  if ('fingerprint' in isOurs) {
    const { fingerprint, problem } = await certificateOf(host, port.number)
    if (fingerprint === undefined) return isRefused(problem) ? whenFree(of, asked) : wrong(of, 'port_strange', asked)
    return fingerprint === isOurs.fingerprint ? ok(of, 'port_ours') : wrong(of, 'port_taken', asked)
  }
  try {
    // This only detects Turnpike; the certificate is checked below.
    const anyone: object = { tls: { rejectUnauthorized: false } }
    const init = { ...anyone, signal: AbortSignal.timeout(answerWithinMs), redirect: 'manual' } as const
    const answer = await fetch(port.url, init)
    const text = `${JSON.stringify(Object.fromEntries(answer.headers))}${await answer.text()}`
    return isOurs.test(text) ? ok(of, 'port_ours') : wrong(of, 'port_taken', asked)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    return isRefused(code) ? whenFree(of, asked) : wrong(of, 'port_strange', asked)
  }
}

function lookAtNames(config: Config): Promise<Advice>[] {
  const hosts = [config.gatewayHost, config.vpnHost, URL.parse(config.publicUrl ?? '')?.hostname ?? '']
  const names = [...new Set(hosts)].filter((host) => host !== '' && isIP(host.replace(/^\[|\]$/g, '')) === 0)
  return names.map(async (name) => {
    const of = subject.name(name)
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

function lookAtOwnCertificate(config: Config, isGateway: boolean): Advice[] {
  const files = certificateFilesOf(config)
  if (!files) return []
  const failures = config.acmeNames.length > 0 ? failuresIn(acmeFolder(config.folder)) : 0
  const found = findCertificate(files)
  const { gatewayHost: host, gatewayTlsPort } = config
  const lacksHost = isGateway && gatewayTlsPort > 0 && typeof found !== 'string' && !coversName(found, host)
  return [
    adviseOwnCertificate(files.cert, found, failures, Date.now()),
    ...(lacksHost && isIP(host) === 0 ? [note(subject.certificateIn(files.cert), 'file_lacks_host', { host })] : []),
  ]
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

type Seen = {
  readonly endsAt?: number
  readonly lifeMs?: number
  readonly fingerprint?: string
  readonly problem: string
}

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
      const { valid_from: from, valid_to: until, fingerprint256: fingerprint } = socket.getPeerCertificate()
      const endsAt = Date.parse(until)
      const problem = socket.authorized ? '' : String(socket.authorizationError ?? 'unknown')
      end({ problem, fingerprint, ...(!Number.isNaN(endsAt) && { endsAt, lifeMs: endsAt - Date.parse(from) }) })
    })
  })
}
