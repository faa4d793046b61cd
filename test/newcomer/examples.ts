import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from '../../tools/package/project.ts'
import { readCompose } from './compose.ts'
import { expectMatch, type Steps } from './steps.ts'

const folder = join(root, 'docs/operate/containers')

/** Contains the schemas of Kubernetes’ API description; only this test uses it. */
const kubernetesModels = 'kubernetes-models@5.1.0'

type Model = new (manifest: unknown) => { validate(): void }
type Manifest = { readonly apiVersion: string; readonly kind: string }

/** Checks the examples with docker-compose and the Kubernetes schemas. */
export async function tryExamples(steps: Steps, work: string): Promise<void> {
  await steps.step('docker-compose reads compose.yaml', async () => {
    expectMatch('the VPN node', JSON.stringify(await readCompose()), /NET_ADMIN/)
    return undefined
  })
  await steps.step('the manifests match the Kubernetes schemas', async () => {
    await run(['npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', work, kubernetesModels], work)
    const manifests: Manifest[] = []
    for (const name of readdirSync(join(folder, 'kubernetes'))) {
      const text = await Bun.file(join(folder, 'kubernetes', name)).text()
      manifests.push(...text.split(/^---$/m).map((part) => Bun.YAML.parse(part) as Manifest))
    }
    for (const manifest of manifests) await validate(manifest, work)
    await compile(manifests, work)
    return `${manifests.length} of them`
  })
}

async function validate(manifest: Manifest, work: string): Promise<void> {
  const modelPath = join(work, 'node_modules/kubernetes-models', manifest.apiVersion, `${manifest.kind}.js`)
  const loaded = (await import(modelPath)) as Record<string, Model>
  const Kind = loaded[manifest.kind]
  if (!Kind) throw new Error(`there is no ${manifest.kind} in ${manifest.apiVersion}`)
  new Kind(manifest).validate()
}

/** The schemas accept unknown fields, such as misspelt ones; the compiler does not. */
async function compile(manifests: readonly Manifest[], work: string): Promise<void> {
  const program = manifests.map(({ apiVersion, kind, ...rest }, index) => {
    const type = `Kind${index}`
    const value = JSON.stringify({ apiVersion, kind, ...rest }, null, 1)
    return `import type { I${kind} as ${type} } from 'kubernetes-models/${apiVersion}/${kind}'\nexport const of${index}: ${type} = ${value}\n`
  })
  const file = join(work, 'manifests.ts')
  await Bun.write(file, program.join(''))
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--module', 'esnext']
  const resolution = ['--moduleResolution', 'bundler']
  await run([join(root, 'node_modules/.bin/tsc'), ...options, ...resolution, file], work)
}
