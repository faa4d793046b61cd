import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = resolve(import.meta.dir, '../..')
const source = join(root, 'src/console')

/** Where the shop looks for it. */
const builtConsole = join(root, 'dist/console')

const bestBrotli = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }

/** A file beside its compressed forms, so that nothing is compressed while customers wait. */
async function writeFile(folder: string, name: string, content: Uint8Array<ArrayBuffer>): Promise<void> {
  await Promise.all([
    Bun.write(join(folder, name), content),
    Bun.write(join(folder, `${name}.br`), brotliCompressSync(content, bestBrotli)),
    Bun.write(join(folder, `${name}.gz`), gzipSync(content, { level: 9 })),
  ])
}

/**
 * Builds the console: modules that are loaded when they are wanted, one style sheet, and the page that names them.
 * Names hold a digest of the content, so a browser may keep them for ever.
 */
export async function buildConsole(folder = builtConsole): Promise<void> {
  const built = await Bun.build({
    entrypoints: [join(source, 'main.tsx'), join(source, 'console.css')],
    target: 'browser',
    splitting: true,
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[name]-[hash].[ext]', chunk: 'part-[hash].[ext]' },
  })
  const fresh = `${folder}-${process.pid}`
  mkdirSync(fresh, { recursive: true })
  const files = await Promise.all(
    built.outputs.map(async (output) => ({
      name: basename(output.path),
      content: new Uint8Array(await output.arrayBuffer()),
    })),
  )
  const icon = await Bun.file(join(source, 'icon.svg')).bytes()
  files.push({ name: `icon-${Bun.hash(icon).toString(36)}.svg`, content: icon })
  await Promise.all(files.map(({ name, content }) => writeFile(fresh, name, content)))
  const find = (pattern: RegExp): string => files.find(({ name }) => pattern.test(name))?.name ?? ''
  const names = { style: find(/^console-.*\.css$/), script: find(/^main-.*\.js$/), icon: find(/^icon-/) }
  const page = await Bun.file(join(source, 'page.html')).text()
  // The nonce is another one for each visit: the shop fills it in.
  const filled = page.replace(/\{(style|script|icon)\}/g, (_, part: keyof typeof names) => names[part])
  await Bun.write(join(fresh, 'page.html'), filled)
  // Whole or not at all: a shop may be serving from there.
  rmSync(folder, { recursive: true, force: true })
  renameSync(fresh, folder)
}
