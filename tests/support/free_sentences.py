"""Secrets said in free sentences, and innocent sentences that look like them, in six languages.

Written before the patterns that find them. In a telling sentence the secret stands between bars. Of
each list every other sentence is held out: the patterns were written with the rest in sight.
"""

from __future__ import annotations

_TELLING = """
I set the root password to |blueberry|
the sudo password should be |tiger99|
The new password will be |Tiger-99|
password now: |Tiger99|
passcode |246810|
pin |1234| for the sim
Wifi: HomeNet, key: |MyDogRex2020|
ssh into the pi with root:|toor|
licence key |ABCD-EFGH-1234-5678|
changed the admin password to |Marmalade|
Please use |hunter22| as the database password
We agreed that the shared password would be |pelican|
my passcode's |135790|
the phone unlocks with |482615|
Log in as admin with password |sesame|
Her Netflix password has become |Otter!Lake|
the guest wifi is CafeBlue and its password is |espresso|
the password of the NAS stays |walnut44|
enter |7391| as the PIN
PIN of my debit card: |5520|
username anna, password |cranberry|
The combination to the bike lock is |4-7-1-9|
for the staging box the login is deploy and the password |mangrove7|
we rotated it, the vault password is |Quiet-Falcon-8| from today
activation key: |X7K2P-9QWEM-44TRZ-KLM20|
the product key for Windows is |VK7JG-NPHTM-C97JM-9MPGT-3V66T|
don't forget, pw |lavender12|
the access code at the office door: |2580#|
his voicemail pin was changed to |9081|
our wifi network key is |sunflowers|
sign in with jo@example.org and |Kestrel#5|
the secret word for the alarm company is |zanzibar|
Zugangsdaten: max / |geheim123|
Ich habe das Root-Passwort auf |Blaubeere| gesetzt
Das neue Passwort lautet ab heute |Tiger-99|
das WLAN heißt Nest und der Schlüssel ist |Apfelbaum7|
Passwort jetzt: |Kirsche42|
Kennwort fürs NAS: |Walnuss|
die PIN meiner EC-Karte ist |4417|
PIN |8823| für die SIM
Das Passwort wurde auf |Leuchtturm| geändert
Melde dich mit admin und dem Passwort |Pinguin88| an
der Code fürs Tor ist |3719|
Benutzer paul, Kennwort |Eichhorn5|
Lizenzschlüssel |QWER-TZUI-9876-5432|
nimm |Zitrone!9| als Passwort
Anmeldung: gast / |Willkommen24|
das Router-Passwort soll |Regenbogen| sein
j'ai mis le mot de passe root à |myrtille|
le nouveau mot de passe sera |Tigre-99|
mot de passe actuel : |Soleil77|
identifiants : marie / |chaton2021|
le code PIN de ma carte est |6604|
code PIN |3391| pour la SIM
la clé wifi est |Tournesol8|
Le mot de passe a été changé en |papillon|
connecte-toi avec admin et le mot de passe |Renard!4|
le code de la porte d'entrée : |47B12|
mdp du NAS : |noisette|
clé de licence |AZER-TYUI-2468-1357|
le digicode est |58A90|
utilise |Fraise2022| comme mot de passe
he puesto la contraseña de root en |arándano|
la nueva contraseña será |Tigre-99|
contraseña actual: |Girasol55|
credenciales: luis / |gatito2020|
el PIN de mi tarjeta es |7712|
pin |4410| para la SIM
la clave del wifi es |Manzana88|
cambié la contraseña a |mariposa|
entra con admin y la contraseña |Zorro!3|
el código de la puerta es |2468|
usa |Fresa2023| como contraseña
clave de licencia |POIU-YTRE-1122-3344|
mudei a senha do root para |mirtilo|
a nova senha vai ser |Tigre-99|
senha atual: |Girassol66|
credenciais: rui / |gatinho2019|
o PIN do meu cartão é |9934|
o código do portão é |1357|
a senha do wifi é |Laranja77|
entra com admin e a senha |Raposa!2|
usa |Morango2024| como senha
chave de licença |LKJH-GFDS-5566-7788|
ho impostato la password di root a |mirtillo|
la nuova password sarà |Tigre-99|
password attuale: |Girasole44|
credenziali: luca / |gattino2018|
il PIN della mia carta è |2283|
il codice del cancello è |8642|
la chiave del wifi è |Mela2025|
entra con admin e la password |Volpe!6|
usa |Fragola2021| come password
chiave di licenza |MNBV-CXZA-9900-1122|
la parola d'ordine è |girasole|
"""

_INNOCENT = """
the password must be at least 12 characters
set the password to something long
The pincode for Pune is 411001
key: value
the key is under the mat
reset the password in Settings
The new password will be sent by email
the password should be changed every 90 days
the sudo password should be asked for once
I set the password to expire after 30 days
passcode required after 5 minutes
pin 3 of the connector carries ground
pin 1024 tweets to the board
Wifi: HomeNet, channel 11
the licence key arrives by mail on Monday
changed the admin password to a longer one
the password would be nice to have
use a passphrase as the database password
the login page is slow
credentials: ask Dana
log in as admin with a password manager
the combination of tea and milk is fine
access code for visitors is printed at the desk
the key to good bread is patience
The PIN pad has 12 keys
her password has become a joke
username and password are both required
root: the part of a plant below the ground
root:x:0:0:root:/root:/bin/bash
localhost:8080 is where it runs
ratio: 3:4, name:value, a:b
product keys are sold in packs of 100
the secret word is hidden in chapter 3
activation key field is empty
network key management comes in version 2
the door code changes on 2026-03-01
the voicemail of 9081 callers was lost
we rotate the vault password quarterly
the alarm rings at 7391 Hz
pin the version to 1234 in the lock file
sign in with jo@example.org and your password
the phone unlocks with Face ID
the unlock code is texted to 482615 on request
postal code 75011, area code 0221
Zugangsdaten: siehe Wiki
Das Passwort muss mindestens 12 Zeichen haben
ich habe das Passwort auf der Seite geändert
das neue Passwort wird per Post geschickt
Passwort jetzt ändern
das Passwort sollte lang sein
die PIN hat 4 Stellen
PIN 4 des Steckers ist Masse
der Schlüssel ist unter der Matte
der Code ist in 2000 Zeilen geschrieben
Lizenzschlüssel kommen per Mail
Postleitzahl 80331, Vorwahl 089
nimm einen Satz als Passwort
das Kennwort für Gäste steht am Kühlschrank
Schlüssel: Wert
Anmeldung: bis Freitag / online
le mot de passe doit avoir 12 caractères
j'ai mis le mot de passe dans le coffre
le nouveau mot de passe sera envoyé demain
identifiants : voir le wiki
le code postal est 75011
la clé est sous le paillasson
la clé du succès est la patience
le mot de passe a été changé en 2024
code 404 pour la page
clé : valeur
utilise une phrase comme mot de passe
la contraseña debe tener 12 caracteres
he puesto la contraseña en el gestor
la nueva contraseña será enviada mañana
credenciales: ver el wiki
el código postal es 28013
la clave del éxito es la paciencia
cambié la contraseña a una más larga
clave: valor
el pin 13 es la tierra
a senha deve ter 12 caracteres
mudei a senha para uma mais longa
a nova senha vai ser enviada amanhã
o código postal é 1100
a chave do sucesso é a paciência
chave: valor
credenciais: ver o wiki
la password deve avere 12 caratteri
ho impostato la password nel gestore
la nuova password sarà inviata domani
il codice postale è 20121
la chiave del successo è la pazienza
chiave: valore
credenziali: vedi il wiki
usa una frase come password
"""


def _parted(lines: str) -> tuple[list[str], list[str]]:
    sentences = lines.strip().split("\n")
    return sentences[::2], sentences[1::2]


TELLING, TELLING_HELD_OUT = _parted(_TELLING)
INNOCENT, INNOCENT_HELD_OUT = _parted(_INNOCENT)
