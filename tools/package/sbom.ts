import { join } from 'node:path'
import { root, run, version, writtenAtSeconds } from './place.ts'

type Bom = {
  serialNumber?: string
  metadata: { timestamp: string; tools?: unknown; component: { 'bom-ref': string; name: string; type: string } }
  components: readonly { readonly 'bom-ref': string }[]
  dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

type Locked = { readonly version: string; readonly dev?: boolean; readonly devOptional?: boolean }
type Lock = { readonly packages: Readonly<Record<string, Locked>> }

/** The packages that the program is made of, as `name@version`: those of the lock file but the ones for development. */
async function listShipped(): Promise<ReadonlySet<string>> {
  const { packages } = (await Bun.file(join(root, 'package-lock.json')).json()) as Lock
  const shipped = Object.entries(packages).filter(([path, each]) => path !== '' && !each.dev && !each.devOptional)
  return new Set(shipped.map(([path, each]) => `${path.split('node_modules/').at(-1)}@${each.version}`))
}

/**
 * The bill of materials of the program (CycloneDX). `npm sbom --omit=dev` leaves out what development needs as well, so
 * the packages are chosen here. The random number and the tool's version are left out, and the time is that of the
 * sources, so that it is the same twice.
 */
export async function makeBom(): Promise<Bom> {
  const shipped = await listShipped()
  const bom = JSON.parse(await run(['npm', 'sbom', '--sbom-format=cyclonedx', '--package-lock-only'])) as Bom
  const { component } = bom.metadata
  delete bom.serialNumber
  delete bom.metadata.tools
  bom.metadata.timestamp = new Date((await writtenAtSeconds()) * 1000).toISOString()
  Object.assign(component, { name: 'turnpike', type: 'application', version })
  bom.components = bom.components.filter((each) => shipped.has(each['bom-ref']))
  bom.dependencies = bom.dependencies
    .filter(({ ref }) => ref === component['bom-ref'] || shipped.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => shipped.has(each)) }))
  return bom
}

export async function writeBom(path: string): Promise<void> {
  await Bun.write(path, `${JSON.stringify(await makeBom(), null, 2)}\n`)
}
