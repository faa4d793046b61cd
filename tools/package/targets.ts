/** A processor by its names in Bun and Debian, and the npm package that has Bun for it. */
export type Target = {
  readonly cpu: 'x64' | 'arm64'
  readonly debian: 'amd64' | 'arm64'
  readonly runtime: string
}

export const targets: readonly Target[] = [
  { cpu: 'x64', debian: 'amd64', runtime: '@oven/bun-linux-x64' },
  { cpu: 'arm64', debian: 'arm64', runtime: '@oven/bun-linux-aarch64' },
]

export const ownTarget = (): Target => {
  const own = targets.find((each) => each.cpu === process.arch)
  if (!own) throw new Error(`there are packages for ${targets.map((each) => each.cpu).join(' and ')} alone`)
  return own
}
