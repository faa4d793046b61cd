import { gzipSync } from 'node:zlib'
import { readBase } from './base.ts'
import { version, writtenAtSeconds } from './project.ts'
import { type Entry, toTar } from './tar.ts'
import type { Target } from './targets.ts'

/** User and group id of the program. Hosts normally have no user with this id. */
const user = 10_001
const dataFolder = '/var/lib/turnpike'

/** Default settings of a container. */
export const imageSettings = { TURNPIKE_DATA: dataFolder, TURNPIKE_HOST: '0.0.0.0', TURNPIKE_SANDBOX: 'off' }

/** Exposed ports: the shop, the gateway and the VPN. */
export const imagePorts = ['8080/tcp', '10800/tcp', '51820/udp']

const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
}

type Blob = { readonly digest: string; readonly size: number; readonly content: Uint8Array }

const toBlob = (content: Uint8Array): Blob => ({
  digest: new Bun.CryptoHasher('sha256').update(content).digest('hex'),
  size: content.length,
  content,
})
const jsonBlob = (value: unknown): Blob => toBlob(new TextEncoder().encode(JSON.stringify(value)))
const described = (blob: Blob, mediaType: string) => ({ mediaType, digest: `sha256:${blob.digest}`, size: blob.size })

/**
 * Builds an image (OCI image layout 1.1 in one archive) of the program and its libraries, without a shell or a package
 * manager. The archive also has the `manifest.json` of older versions of `docker load`.
 */
export async function buildImage(target: Target, binary: string, outfile: string): Promise<void> {
  const seconds = await writtenAtSeconds()
  const base = await readBase(target)
  const layers = [
    layerOf([...base.entries, ...userEntries()], seconds),
    layerOf(
      [{ kind: 'file', path: 'usr/bin/turnpike', mode: 0o755, content: await Bun.file(binary).bytes() }],
      seconds,
    ),
  ]
  const config = jsonBlob(configOf(target, layers, base.packages, new Date(seconds * 1000).toISOString()))
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: types.manifest,
    config: described(config, types.config),
    layers: layers.map((layer) => described(layer.blob, types.layer)),
  })
  await Bun.write(
    outfile,
    toArchive(target, [config, manifest, ...layers.map((layer) => layer.blob)], { config, manifest, layers }, seconds),
  )
}

type Layer = { readonly blob: Blob; readonly plainDigest: string }

function layerOf(entries: readonly Entry[], seconds: number): Layer {
  const plain = toTar(withFolders(entries), seconds)
  return { blob: toBlob(gzipSync(plain, { level: 6 })), plainDigest: toBlob(plain).digest }
}

/** Adds an entry for each parent folder, before the entries in it. */
function withFolders(entries: readonly Entry[]): Entry[] {
  const folders = new Set(
    entries.flatMap(({ path }) =>
      path
        .split('/')
        .slice(0, -1)
        .map((_, index, parts) => parts.slice(0, index + 1).join('/')),
    ),
  )
  const given = new Set(entries.map((entry) => entry.path))
  const made = [...folders]
    .filter((path) => !given.has(path))
    .map((path): Entry => ({ kind: 'folder', path, mode: 0o755 }))
  return [...made, ...entries].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

function userEntries(): Entry[] {
  const text = (path: string, lines: readonly string[]): Entry => ({
    kind: 'file',
    path,
    mode: 0o644,
    content: new TextEncoder().encode(lines.map((line) => `${line}\n`).join('')),
  })
  return [
    text('etc/passwd', [
      'root:x:0:0:root:/:/nonexistent',
      `turnpike:x:${user}:${user}:Turnpike:${dataFolder}:/nonexistent`,
    ]),
    text('etc/group', ['root:x:0:', `turnpike:x:${user}:`]),
    text('etc/nsswitch.conf', ['passwd: files', 'group: files', 'hosts: files dns']),
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    { kind: 'folder', path: 'run', mode: 0o755 },
    // An empty volume that is mounted here gets this owner.
    { kind: 'folder', path: dataFolder.slice(1), mode: 0o700, owner: user },
  ]
}

const configOf = (target: Target, layers: readonly Layer[], packages: readonly string[], created: string) => ({
  created,
  architecture: target.debian,
  os: 'linux',
  config: {
    User: `${user}:${user}`,
    ExposedPorts: Object.fromEntries(imagePorts.map((port) => [port, {}])),
    Env: ['PATH=/usr/sbin:/usr/bin', ...Object.entries(imageSettings).map(([name, value]) => `${name}=${value}`)],
    Entrypoint: ['/usr/bin/turnpike'],
    Cmd: ['up'],
    Volumes: { [dataFolder]: {} },
    WorkingDir: '/',
    StopSignal: 'SIGTERM',
    Labels: {
      'org.opencontainers.image.title': 'Turnpike',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'turnpike.debian-packages': packages.join(', '),
    },
  },
  rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${layer.plainDigest}`) },
  history: [
    { created, created_by: 'Debian packages' },
    { created, created_by: `turnpike ${version}` },
  ],
})

type Parts = { readonly config: Blob; readonly manifest: Blob; readonly layers: readonly Layer[] }

function toArchive(target: Target, blobs: readonly Blob[], parts: Parts, seconds: number): Uint8Array {
  const blobPath = (blob: Blob) => `blobs/sha256/${blob.digest}`
  const file = (path: string, content: Uint8Array): Entry => ({ kind: 'file', path, mode: 0o644, content })
  const json = (path: string, value: unknown) => file(path, jsonBlob(value).content)
  const index = {
    schemaVersion: 2,
    mediaType: types.index,
    manifests: [
      {
        ...described(parts.manifest, types.manifest),
        platform: { architecture: target.debian, os: 'linux' },
        annotations: { 'org.opencontainers.image.ref.name': version },
      },
    ],
  }
  const forDocker = [
    {
      Config: blobPath(parts.config),
      RepoTags: [`turnpike:${version}`],
      Layers: parts.layers.map((layer) => blobPath(layer.blob)),
    },
  ]
  return toTar(
    [
      json('oci-layout', { imageLayoutVersion: '1.0.0' }),
      json('index.json', index),
      json('manifest.json', forDocker),
      { kind: 'folder', path: 'blobs', mode: 0o755 },
      { kind: 'folder', path: 'blobs/sha256', mode: 0o755 },
      ...blobs.map((blob) => file(blobPath(blob), blob.content)),
    ],
    seconds,
  )
}
