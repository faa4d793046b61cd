/** The first match counts: a browser that also sends another's name comes before that one. */
const browsers: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/Edg\w*\/(\d+)/, 'Edge'],
  [/OPR\/(\d+)/, 'Opera'],
  [/YaBrowser\/(\d+)/, 'Yandex'],
  [/Firefox\/(\d+)/, 'Firefox'],
  [/Chrome\/(\d+)/, 'Chrome'],
  [/Version\/(\d+)[\d.]* .*Safari/, 'Safari'],
]
const systems: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
]

/** A browser's name and system from its User-Agent header; the header itself if it is unknown. */
export function browserName(agent: string | null): string {
  if (agent === null) return '—'
  const found = browsers
    .map(([pattern, name]) => [pattern.exec(agent)?.[1], name] as const)
    .find(([version]) => version)
  const system = systems.find(([pattern]) => pattern.test(agent))?.[1]
  return found ? [`${found[1]} ${found[0]}`, system].filter((each) => each !== undefined).join(' · ') : agent
}
