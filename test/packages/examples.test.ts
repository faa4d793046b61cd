import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { commands } from '../../src/app/commands.ts'
import { readConfig, settings } from '../../src/app/settings/config.ts'
import { imagePorts, imageSettings } from '../../tools/package/image.ts'
import { packagedUnits } from '../../tools/package/units.ts'

const folder = join(import.meta.dir, '../../docs/operate/containers')
const known: readonly string[] = Object.values(settings).map((each) => each.env)
const names: readonly string[] = commands.map((each) => each.name)

/** Values for the settings that an operator must fill in. */
const filled: Readonly<Record<string, string>> = {
  DATABASE_PASSWORD: 'a-password',
  SECRET_KEY: '00'.repeat(32),
  PUBLIC_URL: 'https://shop.example.net',
  GATEWAY_HOST: 'gw.example.net',
}

type Container = {
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/** An unknown setting would be ignored silently; an invalid one stops the start. */
function expectUsable(env: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(env)) expect(known).toContain(name)
  expect(() => readConfig({ ...imageSettings, ...env })).not.toThrow()
}

describe('container image', () => {
  test('the image has known settings and exposes the default ports', () => {
    expectUsable(imageSettings)
    const { port, gatewayPort, vpnPort } = readConfig({})
    expect([`${port}/tcp`, `${gatewayPort}/tcp`, `${vpnPort}/udp`]).toEqual([...imagePorts])
  })
})

describe('Docker Compose example', () => {
  const compose = Bun.YAML.parse(readFileSync(join(folder, 'compose.yaml'), 'utf8')) as {
    services: Record<string, Container & { stop_grace_period?: string; network_mode?: string; ports?: string[] }>
  }
  const ours = Object.entries(compose.services).filter(([, each]) => each.image.startsWith('turnpike'))

  test.each(ours)(
    'the Compose service %s runs an existing command of this version with known settings',
    (_, service) => {
      expect(service.image).toBe(`turnpike:${manifest.version}`)
      expect(names).toContain(service.command?.join(' ') ?? '')
      const env = Object.entries(service.environment ?? {}).map(([name, text]) => [
        name,
        text.replace(/\$\{(\w+)(?::-(.*?)|:\?)?\}/g, (_all, variable: string, other = '') => filled[variable] ?? other),
      ])
      expectUsable(Object.fromEntries(env))
      // A part takes at most 10 s to stop.
      expect(Number.parseInt(service.stop_grace_period ?? '', 10)).toBeGreaterThan(10)
    },
  )

  test('the Compose shop publishes ports on 127.0.0.1 only, and nodes use the host network', () => {
    expect(ours.map(([name]) => name)).toEqual(['shop', 'gateway', 'vpn-node'])
    for (const published of compose.services['shop']?.ports ?? []) expect(published).toStartWith('127.0.0.1:')
    for (const node of ['gateway', 'vpn-node']) expect(compose.services[node]?.network_mode).toBe('host')
  })
})

type Pod = {
  readonly terminationGracePeriodSeconds: number
  readonly hostNetwork?: boolean
  readonly securityContext: { readonly runAsNonRoot?: boolean }
  readonly containers: readonly (Container & {
    readonly env?: readonly { readonly name: string; readonly value?: string }[]
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
    readonly securityContext: { readonly capabilities: { readonly drop: string[]; readonly add?: string[] } }
    readonly readinessProbe: { readonly httpGet?: { readonly path: string; readonly port: string | number } }
  })[]
}
type Manifest = {
  readonly kind: string
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: { readonly template?: { readonly spec: Pod } }
}

describe('Kubernetes examples', () => {
  const read = (name: string): Manifest[] =>
    readFileSync(join(folder, 'kubernetes', `${name}.yaml`), 'utf8')
      .split(/^---$/m)
      .map((text) => Bun.YAML.parse(text) as Manifest)
  const podOf = (name: string): Pod => {
    const pod = read(name).find((each) => each.spec?.template)?.spec?.template?.spec
    if (!pod) throw new Error(`there is no pod in ${name}.yaml`)
    return pod
  }
  const secrets = { TURNPIKE_DATABASE_URL: 'postgres://a:b@c/d', TURNPIKE_SECRET_KEY: '00'.repeat(32) }

  test.each(['shop', 'gateway', 'vpn-node'])(
    '%s.yaml runs an existing command with known settings and the capabilities that it needs',
    (name) => {
      const pod = podOf(name)
      const [container] = pod.containers
      expect(container?.image).toBe(`turnpike:${manifest.version}`)
      expect(container?.args).toEqual([name])
      expect(names).toContain(name)
      const config = read(name).find((each) => each.kind === 'ConfigMap')?.data ?? {}
      const given = (container?.env ?? []).map((each) => [
        each.name,
        each.value ?? secrets[each.name as keyof typeof secrets] ?? '',
      ])
      const env = { ...config, ...Object.fromEntries(given) } as Record<string, string>
      expectUsable(env)
      const { drainSeconds } = readConfig({ ...imageSettings, ...env })
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(drainSeconds + 10)
      const isVpn = name === 'vpn-node'
      expect(container?.securityContext.capabilities).toEqual({ drop: ['ALL'], ...(isVpn && { add: ['NET_ADMIN'] }) })
      expect(pod.securityContext.runAsNonRoot).toBe(isVpn ? undefined : true)
      expect(pod.hostNetwork).toBe(name === 'shop' ? undefined : true)
    },
  )

  test('the Kubernetes examples use the default ports and probes of the program', () => {
    const { port, gatewayPort, vpnPort, metricsListen } = readConfig({})
    const portsOf = (name: string) => podOf(name).containers[0]?.ports.map((each) => each.containerPort)
    const probeOf = (name: string) => podOf(name).containers[0]?.readinessProbe.httpGet
    expect([portsOf('shop'), portsOf('gateway'), portsOf('vpn-node')]).toEqual([
      [port, metricsListen?.port ?? 0],
      [gatewayPort],
      [vpnPort],
    ])
    expect(probeOf('shop')).toMatchObject({ path: '/readyz' })
    expect(probeOf('vpn-node')).toMatchObject({ path: '/metrics', port: (metricsListen?.port ?? 0) + 2 })
  })
})

describe('systemd units of the Debian package', () => {
  const services = packagedUnits().filter(({ name }) => name.endsWith('.service'))
  test.each(services.map(({ name, text }) => [name, text]))(
    'the unit %s runs the installed program as user turnpike with known settings',
    (_, text) => {
      const [, command = ''] = /^ExecStart=\/usr\/lib\/turnpike\/turnpike (.+)$/m.exec(text) ?? []
      expect(names).toContain(command)
      expect(text).toMatch(/^User=turnpike$/m)
      expect(text).not.toMatch(/DynamicUser|\/opt\/|\/usr\/local\//)
      // Settings of one role come after the common ones, so that they win.
      expect(text).toMatch(/^EnvironmentFile=-\/etc\/turnpike\/turnpike\.env$/m)
      for (const [named] of text.matchAll(/\bTURNPIKE_[A-Z_]+/g)) expect(known).toContain(named)
    },
  )

  test('turnpike.env of the Debian package names only known settings and sets TURNPIKE_LOCAL_NODES=gateway only', () => {
    const text = readFileSync(join(import.meta.dir, '../../tools/package/debian/turnpike.env'), 'utf8')
    const named = [...text.matchAll(/^#?(TURNPIKE_[A-Z_]+)=/gm)].map(([, name = '']) => name)
    expect(named.length).toBeGreaterThan(5)
    for (const name of named) expect(known).toContain(name)
    expect(text.match(/^[A-Z].*$/gm)).toEqual(['TURNPIKE_LOCAL_NODES=gateway'])
  })
})
