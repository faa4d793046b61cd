import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run, version } from '../../tools/package/project.ts'
import { ownTarget } from '../../tools/package/targets.ts'
import { untilTrue } from '../harness/turnpike.ts'
import { apart, childOf, endSpace } from './apart.ts'
import { tryCompose } from './compose.ts'
import { expectMatch, expectSame, type Steps } from './steps.ts'

const token = 'tp_test_of_the_container'

/** Fields of `skopeo inspect`. */
type Described = { readonly Env: string[]; readonly Architecture: string; readonly Layers: string[] }

/**
 * Reads the image with skopeo, unpacks it with umoci and starts it as its own user on a read-only root with one
 * volume for its data.
 */
export async function tryImage(steps: Steps, archive: string, architecture: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-image-'))
  try {
    const rootfs = join(folder, 'bundle/rootfs')
    await steps.step(`the image for ${architecture}: read and unpacked`, async () => {
      const described = JSON.parse(await run(['skopeo', 'inspect', `oci-archive:${archive}`])) as Described
      expectSame('its processor', described.Architecture, architecture)
      const layout = join(folder, 'layout')
      mkdirSync(layout)
      await run(['tar', '-C', layout, '-xf', archive])
      await run(['umoci', 'unpack', '--image', `${layout}:${version}`, join(folder, 'bundle')])
      return `${(Number((await run(['du', '-sk', rootfs])).split('\t')[0]) / 1000).toFixed(0)} MB unpacked`
    })
    if (architecture === ownTarget().debian) {
      await runImage(steps, folder, rootfs)
      await tryCompose(steps, join(folder, 'bundle'))
    } else await emulate(steps, rootfs, architecture)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runImage(steps: Steps, folder: string, rootfs: string): Promise<void> {
  const { process: image } = (await Bun.file(join(folder, 'bundle/config.json')).json()) as {
    process: { user: { uid: number; gid: number }; env: string[]; args: string[] }
  }
  const inside = ['chroot', `--userspec=${image.user.uid}:${image.user.gid}`, rootfs, ...image.args.slice(0, 1)]
  const env = Object.fromEntries(
    [...image.env, 'TURNPIKE_SANDBOX=on', `TURNPIKE_SANDBOX_TOKEN=${token}`].map((each) => each.split('=', 2)),
  )
  const volume = `${rootfs}/var/lib/turnpike`
  const prepared =
    `mount --bind ${rootfs} ${rootfs} && mount -t proc proc ${rootfs}/proc && ` +
    `mount -t tmpfs -o mode=1777 tmp ${rootfs}/tmp && ` +
    `mount -t tmpfs -o mode=700,uid=${image.user.uid},gid=${image.user.gid} data ${volume} && ip link set lo up && ` +
    `mount -o remount,bind,ro ${rootfs} && env -i "$@"; exit $?`
  const settings = Object.entries<string>(env).map(([name, value]) => `${name}=${value}`)
  mkdirSync(join(rootfs, 'proc'), { recursive: true })
  // The shell stays as the first process: a process that changes its user loses the parent-death signal.
  const host = Bun.spawn(
    [...apart, '--net', 'sh', '-c', prepared, 'sh', ...settings, ...inside, ...image.args.slice(1)],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
  )
  const into = async (...command: readonly string[]) =>
    run(['nsenter', `--target=${childOf(host.pid)}`, '--net', '--mount', '--pid', ...command], '/', env)
  try {
    await steps.step('the image runs on a read-only root and sells a proxy', async () => {
      await untilReady(host, () => into(...inside, 'ready'))
      const body = '{"country_code":"DE","period":30,"count":1,"ipv":4}'
      const request = [
        '-sS',
        '-H',
        `Authorization: Bearer ${token}`,
        '-H',
        'Content-Type: application/json',
        '-d',
        body,
      ]
      // The shop is ready before its gateway has joined, and sells nothing until then.
      let bought = ''
      await untilTrue(async () => {
        bought = await into('curl', ...request, 'http://127.0.0.1:8080/api/v1/dedicated/buy')
        return bought.startsWith('{"ok":true')
      })
      const { data } = JSON.parse(bought) as { data: { proxies: Record<string, string>[] } }
      const proxy = data.proxies[0] ?? {}
      const proxyUrl = `http://${proxy['username']}:${proxy['password']}@${proxy['ip']}:${proxy['port']}`
      const response = await into('curl', '-sS', '-x', proxyUrl, 'http://127.0.0.1:8080/healthz')
      expectSame('the answer through the proxy', response, `{"ok":true,"version":"${version}"}`)
      return undefined
    })
    await steps.step('the image contains the programs of a VPN node', async () => {
      for (const [program, flag] of [
        ['ip', '-V'],
        ['tc', '-V'],
        ['nft', '--version'],
        ['wg', '--version'],
      ] as const) {
        expectMatch(program, await into('chroot', rootfs, program, flag), /\d/)
      }
      return undefined
    })
  } finally {
    await endSpace(host)
  }
}

const maxTries = 200

async function untilReady(host: Bun.Subprocess, check: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; host.exitCode === null && tries < maxTries; tries += 1) {
    const isReady = await check().then(
      () => true,
      () => false,
    )
    if (isReady) return
    await Bun.sleep(300)
  }
  throw new Error('the image does not become ready')
}

/** Runs the program for another processor with an emulator. */
async function emulate(steps: Steps, rootfs: string, architecture: string): Promise<void> {
  const emulator = 'qemu-aarch64-static'
  const name = `the program for ${architecture}`
  if (architecture !== 'arm64') return steps.leaveOut(name, 'Bun for x64 ends with SIGSEGV under QEMU 7.2')
  if (Bun.which(emulator) === null) return steps.leaveOut(name, `there is no ${emulator}`)
  await steps.step(`${name} prints its version under emulation`, async () => {
    const printed = await run([emulator, '-L', rootfs, join(rootfs, 'usr/bin/turnpike'), '--version'])
    expectSame('its version', printed.trim(), version)
    return undefined
  })
}
