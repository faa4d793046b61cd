/** `buyDedicated` at `/dedicated/buy` is `dedicated.buy`: the group's noun is left out of the operation's id. */
export function clientNameOf(id: string, path: string): { readonly group: string; readonly name: string } {
  const group = path.split('/')[1] ?? ''
  const noun = group.charAt(0).toUpperCase() + group.slice(1)
  return { group, name: id.replace(new RegExp(`${noun.replace(/s$/, '')}s?(?=[A-Z]|$)`), '') }
}

export const toSnake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
