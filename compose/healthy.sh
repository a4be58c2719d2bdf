# For health checks in images that have neither curl nor wget: whether an HTTP server of this container answers with 200
# (`bash healthy.sh PORT PATH`).
exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3
read -r status <&3 && [[ $status == *" 200 "* ]]
