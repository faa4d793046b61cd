/** Loads the commands, and answers which lists and country names of Intl that has made. */
const made: string[] = []
for (const name of ['ListFormat', 'DisplayNames'] as const) {
  const construct = (target: never, args: never[], newTarget: never): object => {
    made.push(name)
    return Reflect.construct(target, args, newTarget)
  }
  Object.defineProperty(Intl, name, { value: new Proxy(Intl[name], { construct }) })
}
await import('../../src/app/tool.ts')
postMessage(made)
