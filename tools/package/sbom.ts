import { join } from 'node:path'
import { root, run, version, writtenAtSeconds } from './project.ts'

type Bom = {
  serialNumber?: string
  metadata: { timestamp: string; tools?: unknown; component: { 'bom-ref': string; name: string; type: string } }
  components: readonly { readonly 'bom-ref': string }[]
  dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

type Locked = { readonly version: string; readonly dev?: boolean; readonly devOptional?: boolean }
type Lock = { readonly packages: Readonly<Record<string, Locked>> }

/** The packages of the lock file without development dependencies, as `name@version`. */
async function listShipped(): Promise<ReadonlySet<string>> {
  const { packages } = (await Bun.file(join(root, 'package-lock.json')).json()) as Lock
  const shipped = Object.entries(packages).filter(([path, each]) => path !== '' && !each.dev && !each.devOptional)
  return new Set(shipped.map(([path, each]) => `${path.split('node_modules/').at(-1)}@${each.version}`))
}

/**
 * The bill of materials of the program (CycloneDX). `npm sbom --omit=dev` also omits packages that both the program and
 * development need, so the packages are chosen here. Without serial number and tool version, and with the time of the
 * sources, two runs give the same text.
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
