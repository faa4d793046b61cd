import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './project.ts'
import { ownTarget, type Target } from './targets.ts'

/**
 * The Bun executable of a package: the running one, or npm's package for the other processor with the version and the
 * digest of package-lock.json. A downloaded one is cached.
 */
export async function findRuntime(target: Target): Promise<string> {
  if (target.cpu === ownTarget().cpu) return process.execPath
  const locked = await readLock(target)
  const kept = join(root, 'dist/runtime', `bun-${locked.version}-${target.cpu}`)
  if (existsSync(kept)) return kept
  const folder = join(root, 'dist/runtime')
  mkdirSync(folder, { recursive: true })
  const fresh = mkdtempSync(join(folder, 'fetch-'))
  try {
    await run(['npm', 'pack', '--silent', '--pack-destination', fresh, `${target.runtime}@${locked.version}`], fresh)
    const [name = ''] = new Bun.Glob('*.tgz').scanSync(fresh)
    const digest = new Bun.CryptoHasher('sha512').update(await Bun.file(join(fresh, name)).bytes()).digest('base64')
    if (`sha512-${digest}` !== locked.integrity) {
      throw new Error(`${target.runtime}@${locked.version} is not what package-lock.json was written for`)
    }
    await run(['tar', '-xzf', name, 'package/bin/bun'], fresh)
    renameSync(join(fresh, 'package/bin/bun'), kept)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  return kept
}

type Locked = { readonly version: string; readonly integrity: string }

async function readLock(target: Target): Promise<Locked> {
  const lock = (await Bun.file(join(root, 'package-lock.json')).json()) as { packages: Record<string, Locked> }
  const locked = lock.packages[`node_modules/${target.runtime}`]
  if (!locked) throw new Error(`package-lock.json does not name ${target.runtime}`)
  return locked
}
