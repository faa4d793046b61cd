import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from '../../tools/package/place.ts'
import { expectTold, type Steps } from './steps.ts'

const folder = join(root, 'docs/operate/containers')

/** Has the schemas of Kubernetes' own description, and is wanted here alone. */
const kubernetesModels = 'kubernetes-models@5.1.0'

type Model = new (manifest: unknown) => { validate(): void }
type Manifest = { readonly apiVersion: string; readonly kind: string }

/** What others' programs say to the examples. */
export async function tryExamples(steps: Steps, work: string): Promise<void> {
  await steps.step('docker-compose understands compose.yaml', async () => {
    const settings = { DATABASE_PASSWORD: 'a', SECRET_KEY: 'b', PUBLIC_URL: 'c', GATEWAY_HOST: 'd' }
    const read = await run(
      ['docker-compose', '-f', join(folder, 'compose.yaml'), '--profile', 'vpn', 'config'],
      '/',
      settings,
    )
    expectTold('the VPN node', read, /NET_ADMIN/)
    return undefined
  })
  await steps.step('the manifests are what Kubernetes describes', async () => {
    await run(['npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', work, kubernetesModels], work)
    let count = 0
    for (const name of readdirSync(join(folder, 'kubernetes'))) {
      const text = await Bun.file(join(folder, 'kubernetes', name)).text()
      for (const part of text.split(/^---$/m)) {
        await validate(Bun.YAML.parse(part) as Manifest, work)
        count += 1
      }
    }
    return `${count} of them`
  })
}

async function validate(manifest: Manifest, work: string): Promise<void> {
  const place = join(work, 'node_modules/kubernetes-models', manifest.apiVersion, `${manifest.kind}.js`)
  const loaded = (await import(place)) as Record<string, Model>
  const Kind = loaded[manifest.kind]
  if (!Kind) throw new Error(`there is no ${manifest.kind} in ${manifest.apiVersion}`)
  new Kind(manifest).validate()
}
