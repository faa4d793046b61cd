import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Given } from '../cli/command.ts'
import { findFile } from '../dataplane/agent/own-file.ts'
import { type CertificateFiles, writeFiles } from '../dataplane/tls/certificate.ts'
import { makeSelfSigned } from '../dataplane/tls/der.ts'
import { type Config, nodeFolder, settings } from './settings/config.ts'
import { isTls } from './settings/tls.ts'

/** Where a sandbox's gateway serves VPN devices, unless TURNPIKE_GATEWAY_TLS_PORT says otherwise. */
const usualPort = 10_843
const host = 'localhost'
const dayMs = 86_400_000
/** Ten years. */
const lastsMs = 3650 * dayMs

/** Flags of a gateway and its shop that serve VPN devices over TLS on this machine, or why they do not. */
export type SandboxTls =
  | {
      readonly gateway: readonly string[]
      readonly shop: readonly string[]
      readonly port: number
      /** An earlier start made its certificate, so the shop is a sandbox. */
      readonly isKnown: boolean
      /** Whether the gateway has joined a shop before. */
      readonly hasJoined: boolean
    }
  | { readonly problem: string; readonly gateway?: undefined; readonly shop?: undefined }

const folderOf = (config: Config): string => join(nodeFolder(config, 'gateway'), 'sandbox-tls')

const filesOf = (config: Config): CertificateFiles => ({
  cert: join(folderOf(config), 'certificate.pem'),
  key: join(folderOf(config), 'certificate.key'),
})

/** The certificate that a start of the sandbox made; undefined before the first. */
export function findSandboxCertificate(config: Config): CertificateFiles | undefined {
  const files = filesOf(config)
  return config.sandbox && existsSync(files.cert) ? files : undefined
}

/** Undefined where the operator has chosen: a certificate, TURNPIKE_GATEWAY_VPN, or no sandbox. */
export function planSandboxTls(config: Config, flags: Given['flags']): SandboxTls | undefined {
  const { flag, env } = settings.gatewayVpn
  const isChosen = flags[flag] !== undefined || (process.env[env] ?? '') !== ''
  if (!config.sandbox || isChosen || isTls(config) || config.gatewaySite.kind === 'off') return undefined
  const port = config.gatewayTlsPort || usualPort
  if (!isFreePort(port))
    return { problem: `port ${port} is in use by another program. TURNPIKE_GATEWAY_TLS_PORT chooses another port.` }
  const { cert, key } = filesOf(config)
  const values = { gatewayTlsPort: port, tlsCert: cert, tlsKey: key, gatewayVpn: 'on' }
  const names = ['gatewayTlsPort', 'tlsCert', 'tlsKey', 'gatewayVpn'] as const
  return {
    gateway: names.map((name) => `--${settings[name].flag}=${values[name]}`),
    shop: [`--${flag}=on`],
    port,
    isKnown: existsSync(cert),
    hasJoined: existsSync(join(nodeFolder(config, 'gateway'), 'node.json')),
  }
}

/** Makes the certificate of a sandbox's gateway, once. Links name its digest, so it stays. */
export function makeSandboxCertificate(config: Config): void {
  const files = filesOf(config)
  // Reading restores mode 0600, which a backup may have lost.
  if (findFile(files.cert) !== undefined && findFile(files.key) !== undefined) return
  mkdirSync(folderOf(config), { recursive: true, mode: 0o700 })
  const nowMs = Date.now()
  writeFiles(files, makeSelfSigned(host, nowMs - dayMs, nowMs + lastsMs))
}

function isFreePort(port: number): boolean {
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
    return true
  } catch {
    return false
  }
}
