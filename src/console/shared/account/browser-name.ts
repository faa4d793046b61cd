/** The first that is named; those that call themselves by others' names too come before them. */
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

/** What people call a browser that has called itself something long; as it did where nothing in it is known. */
export function browserName(agent: string | null): string {
  if (agent === null) return '—'
  const found = browsers
    .map(([pattern, name]) => [pattern.exec(agent)?.[1], name] as const)
    .find(([version]) => version)
  const system = systems.find(([pattern]) => pattern.test(agent))?.[1]
  return found ? [`${found[1]} ${found[0]}`, system].filter((each) => each !== undefined).join(' · ') : agent
}
