import { readFileSync } from 'node:fs'

/** The kernel's value for a process that no login started, such as a service. */
const noLogin = '4294967295'

type Facts = {
  /** `/proc/self/loginuid`: set once at the login and kept across `sudo` and `su`, so a user cannot choose it. */
  readonly login: string | undefined
  readonly sudoUser: string | undefined
  readonly uid: number
  /** `/etc/passwd`. Starting `id` would take longer than most commands. */
  readonly users: string | undefined
}

/** The user at the command line, for the audit log: who logged in, else who ran `sudo`, else who runs the process. */
export function toMachineUser({ login = noLogin, sudoUser, uid, users = '' }: Facts): string {
  const nameOf = (id: string): string => {
    const line = users.split('\n').find((each) => each.split(':')[2] === id)
    return line?.split(':')[0] ?? `uid ${id}`
  }
  if (login !== noLogin && login !== '') return nameOf(login)
  return sudoUser ?? nameOf(String(uid))
}

export const findMachineUser = (): string =>
  toMachineUser({
    login: findText('/proc/self/loginuid'),
    sudoUser: process.env['SUDO_USER'],
    uid: process.getuid?.() ?? 0,
    users: findText('/etc/passwd'),
  })

function findText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
