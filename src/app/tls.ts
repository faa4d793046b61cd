import { readFileSync } from 'node:fs'
import manifest from '../../package.json' with { type: 'json' }
import { raiseFileLimit } from '../adapters/libc.ts'
import type { Log } from '../core/log.ts'
import type { Metrics } from '../core/metrics.ts'
import { Refusal } from '../core/refusal.ts'
import { realTiming } from '../dataplane/agent/runtime.ts'
import { type ChallengeServer, serveChallenges } from '../dataplane/tls/acme/challenge-server.ts'
import { Authority } from '../dataplane/tls/acme/client.ts'
import { Renewal } from '../dataplane/tls/acme/renewal.ts'
import { BadCertificate, type Certificate, keepCertificate, readFiles } from '../dataplane/tls/certificate.ts'
import { openEntrance, type TlsEntrance } from '../dataplane/tls/front.ts'
import { tellSystemd } from './process.ts'
import { type Config, localShopUrl, shopUrl } from './settings/config.ts'
import { listening, withIpv6OrWithout } from './settings/listening.ts'
import { BadSetting } from './settings/reading.ts'
import { acmeFolder, certificateFilesOf } from './settings/tls.ts'

/** How long the start waits for the first ACME order before it continues without a certificate. */
const awaitedMs = 30_000
const awaitEveryMs = 50
const openEveryMs = 1000

export type Tls = NonNullable<ReturnType<typeof openTls>>

/**
 * Opens TLS, if configured. With ACME the shop orders the certificate, and a gateway of the same folder reads it. With
 * `takesOver` another process still listens for challenges; call `order` after it has stopped.
 */
export function openTls(config: Config, role: 'shop' | 'gateway', log: Log, takesOver = false) {
  const files = certificateFilesOf(config)
  if (!files) return undefined
  if (config.tlsCert !== undefined) assertServable(config)
  const keeper = keepCertificate({ files, log, clock: Date.now, isAwaited: config.acmeNames.length > 0 })
  const ended = new AbortController()
  const isBesideShop = config.shopUrl === undefined || config.shopUrl === localShopUrl(config)
  const isAsking = config.acmeNames.length > 0 && (role === 'shop' || !isBesideShop)
  const ca = isAsking && config.acmeCa !== undefined ? readCa(config.acmeCa) : undefined
  const open = () => openRenewal(config, role, ca, log, () => keeper.look())
  let renewal = isAsking && !takesOver ? open() : undefined
  async function arrived(): Promise<void> {
    while (!keeper.current() && !ended.signal.aborted) await realTiming.pause(awaitEveryMs, ended.signal)
    if (!ended.signal.aborted) tellSystemd('STATUS=Serving.')
  }
  return {
    current: keeper.current,
    look: keeper.look,
    /** Opens the ACME listener and orders certificates. Waits while the port is in use. */
    async order(): Promise<void> {
      if (!isAsking) return
      renewal = await openWhenFree(open, log, ended.signal)
    },
    /** Settles when there is a certificate, or after 30 s. Until there is one, `systemctl status` shows that. */
    async settled(): Promise<void> {
      if (keeper.current()) return
      tellSystemd('STATUS=No certificate yet: TLS connections are refused. The log has the reason.')
      await Promise.race([arrived(), realTiming.pause(awaitedMs, ended.signal)])
      if (keeper.current() || ended.signal.aborted) return
      const explanation =
        'TLS connections are refused until there is one. Run "turnpike doctor", and look for "certificate not ' +
        'renewed" in the log of the process that orders it'
      log.warn('still no certificate', { file: files.cert, names: config.acmeNames, explanation })
    },
    addMetrics(metrics: Metrics): void {
      const gauge = (name: string, help: string, read: (of: Certificate) => number): void =>
        metrics.gauge(name, help, () => {
          const certificate = keeper.current()
          return certificate && read(certificate) / 1000
        })
      gauge(
        'turnpike_tls_certificate_expires_timestamp_seconds',
        'When the certificate ends, since 1970.',
        (of) => of.endsAt,
      )
      gauge(
        'turnpike_tls_certificate_begins_timestamp_seconds',
        'When the certificate began, since 1970.',
        (of) => of.beginsAt,
      )
      const help = 'How often in a row an ACME authority gave no certificate; 0 where none is asked.'
      metrics.gauge('turnpike_acme_failures', help, () => renewal?.failures() ?? 0)
    },
    async stop(): Promise<void> {
      ended.abort()
      keeper.stop()
      await renewal?.stop()
    },
  }
}

function assertServable(config: Config): void {
  try {
    readFiles({ cert: config.tlsCert ?? '', key: config.tlsKey ?? '' })
  } catch (error) {
    if (!(error instanceof BadCertificate)) throw error
    throw new BadSetting(
      `TURNPIKE_TLS_CERT (--tls-cert) and TURNPIKE_TLS_KEY (--tls-key) cannot be used: ${error.message}.`,
    )
  }
}

function openRenewal(
  config: Config,
  role: 'shop' | 'gateway',
  ca: string | undefined,
  log: Log,
  onRenewed: () => void,
) {
  const challenges = openChallenges(config, role)
  const { acmeDirectory: directory, acmeNames: names, acmeContact: contact } = config
  const renewal = new Renewal({
    folder: acmeFolder(config.folder),
    names,
    directory,
    contact,
    authority: new Authority({ directory, ca, agent: `turnpike/${manifest.version}` }),
    challenges,
    clock: Date.now,
    log,
    onRenewed,
  })
  void renewal.look()
  return {
    failures: () => renewal.failures,
    async stop() {
      await renewal.stop()
      await challenges.stop()
    },
  }
}

function readCa(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new BadSetting(`TURNPIKE_ACME_CA (--acme-ca) is a file that cannot be read: ${path}.`)
  }
}

/** The previous process of an older version listens until its last connection has ended. */
async function openWhenFree<Opened>(open: () => Opened, log: Log, end: AbortSignal): Promise<Opened | undefined> {
  for (let tries = 0; !end.aborted; tries += 1) {
    try {
      return open()
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (tries === 0) log.warn('certificate renewal waits', { reason: error.message })
    }
    await realTiming.pause(openEveryMs, end)
  }
  return undefined
}

function openChallenges(config: Config, role: 'shop' | 'gateway'): ChallengeServer {
  const { host, port } = config.acmeListen
  const to = role === 'shop' ? shopUrl(config) : undefined
  return listening(host, port, 'ACME listener (TURNPIKE_ACME_LISTEN)', () =>
    withIpv6OrWithout(host, (hostname) => serveChallenges({ hostname, port, to })),
  )
}

/** A connection takes three descriptors: the customer's, and both ends of the plain one behind it. */
const filesOfConnection = 3
const maxConnections = 10_000

export function openShopEntrance(
  { current }: Tls,
  { hostname, port, inner, log }: { hostname: string; port: number; inner: () => number; log: Log },
): TlsEntrance {
  const files = raiseFileLimit(process.platform)
  const max = Math.min(maxConnections, Math.floor((files * 0.8) / filesOfConnection))
  return listening(hostname, port, 'shop (TURNPIKE_PORT)', () =>
    openEntrance({ hostname, port, certificate: current, max, inner, log }),
  )
}
